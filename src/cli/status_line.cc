#include "cli/status_line.h"

#include "cli/columns.h"

namespace moulin::cli {

void StatusLine::show(std::string_view text) {
  View view = console_.error_view();
  if (view.width <= 1 || console_.is_json()) return;
  // One column less: a cursor behind the last one would make some terminals scroll.
  std::string line = cut_to(printable(text), static_cast<size_t>(view.width - 1));
  if (line == shown_) return;
  console_.write_err("\r\x1b[K" + paint(line, Ink::kDim, view));
  shown_ = std::move(line);
}

void StatusLine::clear() {
  if (!shown_.empty()) console_.write_err("\r\x1b[K");
  shown_.clear();
}

}  // namespace moulin::cli
