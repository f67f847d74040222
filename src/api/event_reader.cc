#include "api/event_reader.h"

#include <algorithm>

namespace moulin {

Status LineReader::feed(std::string_view piece) {
  size_t end = piece.find('\n');
  while (end != std::string_view::npos) {
    rest_.append(piece.substr(0, end));
    if (rest_.ends_with('\r')) rest_.pop_back();
    on_line_(rest_);
    rest_.clear();
    piece.remove_prefix(end + 1);
    end = piece.find('\n');
  }
  rest_.append(piece);
  if (rest_.size() <= kStreamLineMax) return {};
  return Error{.code = Code::kInvalid, .message = "a line of the stream is too long", .allowed = "at most 4MiB"};
}

void LineReader::end() {
  if (!rest_.empty()) on_line_(rest_);
  rest_.clear();
}

EventReader::EventReader(std::function<void(const StreamEvent&)> on_event)
    : on_event_(std::move(on_event)), lines_([this](std::string_view line) { take_line(line); }) {}

void EventReader::take_line(std::string_view line) {
  if (line.empty()) {
    if (has_data_) on_event_(event_);
    event_ = {};
    has_data_ = false;
    return;
  }
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") event_.id = value;
  if (field == "event") event_.type = value;
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
}

}  // namespace moulin
