#include "shim/output_pump.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "shim/files.h"

namespace moulin {
namespace {

// A pipe holds at most 1 MiB; somebody outside the tree who holds the other end must not
// keep us reading for ever.
constexpr size_t kRestMax = 16 << 20;

}  // namespace

int64_t wall_time_us() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

OutputPump::OutputPump(const Fd& folder, Bytes per_stream)
    : lanes_{Lane{.log = LogWriter(folder, {.stream = LogStream::kOut, .total_max = per_stream})},
             Lane{.log = LogWriter(folder, {.stream = LogStream::kErr, .total_max = per_stream})}} {}

Status OutputPump::open() {
  for (Lane& lane : lanes_) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe", errno);
    lane.reader.reset(ends[0]);
    lane.writer.reset(ends[1]);
    // Only our end: the program must find an ordinary blocking pipe.
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  return {};
}

void OutputPump::close_writers() {
  for (Lane& lane : lanes_) lane.writer.reset();
}

void OutputPump::add_to(std::vector<pollfd>& waits) const {
  for (const Lane& lane : lanes_) {
    if (lane.reader) waits.push_back({.fd = lane.reader.number(), .events = POLLIN, .revents = 0});
  }
}

bool OutputPump::read_some(Lane& lane, size_t limit) {
  static char buffer[65536];
  for (size_t total = 0; lane.reader && total < limit;) {
    ssize_t got = ::read(lane.reader.number(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      lane.reader.reset();
      return false;
    }
    total += static_cast<size_t>(got);
    lane.log.add({buffer, static_cast<size_t>(got)}, wall_time_us());
  }
  return static_cast<bool>(lane.reader);
}

void OutputPump::pump() {
  for (Lane& lane : lanes_) {
    read_some(lane, kBatchMax);
    lane.log.flush_old(wall_time_us());
  }
}

void OutputPump::finish() {
  for (Lane& lane : lanes_) {
    read_some(lane, kRestMax);
    lane.reader.reset();
    lane.log.finish(wall_time_us());
  }
}

int OutputPump::pause_ms() const {
  for (const Lane& lane : lanes_) {
    if (lane.log.has_partial()) return static_cast<int>(LogWriter::kPartialAgeUs / 1000);
  }
  return -1;
}

int64_t OutputPump::bytes_dropped() const {
  return lanes_[0].log.bytes_dropped() + lanes_[1].log.bytes_dropped();
}

}  // namespace moulin
