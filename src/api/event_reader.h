// Lines and server-sent events out of the pieces of a stream. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/http_responder.h"
#include "base/result.h"

namespace moulin {

inline constexpr size_t kStreamLineMax = 4 << 20;  // bytes; a longer line is an error

// Hands on each complete line without its line end ("\n" or "\r\n").
class LineReader {
 public:
  explicit LineReader(std::function<void(std::string_view)> on_line) : on_line_(std::move(on_line)) {}
  Status feed(std::string_view piece);
  void end();  // hands on a last line that had no line end

 private:
  std::function<void(std::string_view)> on_line_;
  std::string rest_;
};

// Hands on each event; comments (heartbeats) are skipped. An event that the end of the
// stream cut off is dropped.
class EventReader {
 public:
  explicit EventReader(std::function<void(const StreamEvent&)> on_event);
  EventReader(const EventReader&) = delete;  // lines_ points at us
  EventReader& operator=(const EventReader&) = delete;
  Status feed(std::string_view piece) { return lines_.feed(piece); }

 private:
  void take_line(std::string_view line);

  std::function<void(const StreamEvent&)> on_event_;
  StreamEvent event_;
  bool has_data_ = false;
  LineReader lines_;
};

}  // namespace moulin
