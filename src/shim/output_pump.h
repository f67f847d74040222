// Carries what the program writes from its pipes to its log files.
#pragma once

#include <poll.h>

#include <array>
#include <vector>

#include "base/result.h"
#include "shim/fd.h"
#include "shim/log_writer.h"

namespace moulin {

// Microseconds since 1970.
int64_t wall_time_us();

class OutputPump {
 public:
  // `folder` must outlive the pump. `per_stream`: see LogWriter::Rules.
  OutputPump(const Fd& folder, Bytes per_stream);

  // Makes new pipes. Give the writing ends to the program, then close_writers().
  Status open();
  int writer(LogStream stream) const { return lane(stream).writer.number(); }
  void close_writers();

  void add_to(std::vector<pollfd>& waits) const;
  // Reads what is there now, at most kBatchMax a stream. Never blocks.
  void pump();
  // The program and all its children are gone: reads the rest, ends unfinished lines.
  void finish();

  // Milliseconds until an unfinished line is due; -1: none is waiting.
  int pause_ms() const;
  int64_t bytes_dropped() const;

  static constexpr size_t kBatchMax = 1 << 20;

 private:
  struct Lane {
    Fd reader{};
    Fd writer{};
    LogWriter log;
  };
  static bool read_some(Lane& lane, size_t limit);
  const Lane& lane(LogStream stream) const { return lanes_[static_cast<size_t>(stream)]; }

  std::array<Lane, 2> lanes_;
};

}  // namespace moulin
