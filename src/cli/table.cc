#include "cli/table.h"

#include <algorithm>

#include "base/check.h"

namespace moulin {

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

std::string Table::line(const std::vector<Cell>& cells, const std::vector<size_t>& widths, const View& view) const {
  size_t last = widths.size();
  while (last > 0 && widths[last - 1] == 0) --last;
  std::string line;
  size_t used = 0;
  std::string gap;  // owed blanks: only written before more text
  for (size_t i = 0; i < last; ++i) {
    if (widths[i] == 0) continue;
    std::string text = cells[i].text;
    size_t room =
        view.width > 0 ? static_cast<size_t>(view.width) - std::min(used, static_cast<size_t>(view.width)) : 0;
    if (i + 1 == last && view.width > 0 && room >= 8) text = cut_to(text, room);
    std::string blanks(widths[i] - std::min(widths[i], columns_of(text)), ' ');
    if (columns_[i].align == Align::kRight) gap += blanks;
    if (!text.empty()) {
      line += gap + paint(text, cells[i].ink, view);
      gap.clear();
    }
    if (columns_[i].align == Align::kLeft) gap += blanks;
    gap += "  ";
    used += widths[i] + 2;
  }
  return line + "\n";
}

std::string Table::text(const View& view) const {
  if (rows_.empty()) return "";
  std::vector<size_t> widths = this->widths();
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
  std::string text;
  for (const Fact& fact : facts_) {
    std::string name = fact.name + std::string(width - columns_of(fact.name), ' ');
    text += paint(name, Ink::kDim, view) + "  " + paint(fact.value.text, fact.value.ink, view) + "\n";
  }
  return text;
}

}  // namespace moulin
