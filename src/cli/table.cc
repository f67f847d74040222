#include "cli/table.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "cli/columns.h"

namespace moulin::cli {

namespace {

constexpr size_t kGap = 2;
constexpr size_t kShortest = 8;       // of a column that was shortened
constexpr size_t kValueColumns = 20;  // less room than this does not help a value
constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();

size_t room_of(const View& view) { return view.width > 0 ? static_cast<size_t>(view.width) : kUnbounded; }

}  // namespace

void Table::add(std::vector<Cell> cells) {
  MOULIN_CHECK(cells.size() <= columns_.size(), "a row has no more cells than there are columns");
  cells.resize(columns_.size());
  for (Cell& cell : cells) cell.text = printable(cell.text);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i].text));
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] > 0) widths[i] = std::max(widths[i], columns_of(columns_[i].title));
  }
  return widths;
}

bool Table::may_shrink(size_t column, const std::vector<size_t>& widths) const {
  bool gives = columns_[column].align == Align::kLeft && columns_[column].fit == Fit::kCut;
  return gives && widths[column] > kShortest;
}

// Takes a column from the widest that may shrink, until all fits. Ends: each round takes one.
void Table::fit(std::vector<size_t>& widths, const View& view) const {
  auto shown = static_cast<size_t>(std::count_if(widths.begin(), widths.end(), [](size_t width) { return width > 0; }));
  size_t total = std::accumulate(widths.begin(), widths.end(), size_t{0}) + kGap * (std::max(shown, size_t{1}) - 1);
  for (; total > room_of(view); --total) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (may_shrink(i, widths) && (widest == widths.size() || widths[i] >= widths[widest])) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

std::string Table::line(const std::vector<Cell>& cells, const std::vector<size_t>& widths, const View& view) const {
  std::string line;
  size_t used = 0;
  std::string gap;  // owed blanks: only written before more text
  for (size_t i = 0; i < widths.size() && used < room_of(view); ++i) {
    if (widths[i] == 0) continue;
    size_t width = std::min(widths[i], room_of(view) - used);
    std::string text = cut_to(cells[i].text, width);
    std::string blanks(width - std::min(width, columns_of(text)), ' ');
    if (columns_[i].align == Align::kRight) gap += blanks;
    if (!text.empty()) {
      line += gap + paint(text, cells[i].ink, view);
      gap.clear();
    }
    if (columns_[i].align == Align::kLeft) gap += blanks;
    gap.append(kGap, ' ');
    used += width + kGap;
  }
  return line + "\n";
}

std::string Table::text(const View& view) const {
  if (rows_.empty()) return "";
  std::vector<size_t> widths = this->widths();
  fit(widths, view);
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Ink::kDim});
  std::string text = line(titles, widths, view);
  for (const std::vector<Cell>& row : rows_) text += line(row, widths, view);
  return text;
}

void Facts::add(std::string name, std::string value, Ink ink) {
  if (!value.empty()) facts_.push_back({std::move(name), {printable(value), ink}});
}

std::string Facts::text(const View& view) const {
  size_t width = 0;
  for (const Fact& fact : facts_) width = std::max(width, columns_of(fact.name));
  size_t left = width + kGap;
  size_t room =
      room_of(view) == kUnbounded ? kUnbounded : std::max(room_of(view) - std::min(room_of(view), left), kValueColumns);
  std::string text;
  for (const Fact& fact : facts_) {
    std::string name = fact.name + std::string(left - columns_of(fact.name), ' ');
    text += paint(name, Ink::kDim, view);
    std::vector<std::string> lines = broken(fact.value.text, room);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i > 0) text += std::string(left, ' ');
      text += paint(lines[i], fact.value.ink, view) + "\n";
    }
  }
  return text;
}

}  // namespace moulin::cli
