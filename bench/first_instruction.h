// Shared by the benchmarks of starting: a static program of a few instructions writes
// CLOCK_MONOTONIC to a pipe as the first thing it does.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"

namespace moulin::bench {

inline int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// A named pipe for the stamps.
class Stamps {
 public:
  explicit Stamps(std::string path) : path_(std::move(path)) {
    MOULIN_CHECK(::mkfifo(path_.c_str(), 0666) == 0, "a pipe can be made");
    pipe_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);  // for both, so that nobody waits for the other
    MOULIN_CHECK(pipe_ >= 0, "the pipe can be opened");
  }
  Stamps(const Stamps&) = delete;
  ~Stamps() { ::close(pipe_); }
  const std::string& path() const { return path_; }

  // Waits for the next one.
  int64_t next_ns() {
    int64_t stamp = 0;
    MOULIN_CHECK(::read(pipe_, &stamp, sizeof stamp) == sizeof stamp && stamp > 0, "the program writes its time");
    return stamp;
  }

 private:
  std::string path_;
  int pipe_ = -1;
};

// The limit: a bare posix_spawn of the same program with an empty environment.
inline double bare_ms(const std::string& program, Stamps& stamps) {
  const char* arguments[] = {program.c_str(), stamps.path().c_str(), nullptr};
  char* environment[] = {nullptr};
  int64_t asked = now_ns();
  pid_t pid = 0;
  MOULIN_CHECK(::posix_spawn(&pid, program.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environment) == 0);
  int64_t stamp = stamps.next_ns();
  ::waitpid(pid, nullptr, 0);
  return static_cast<double>(stamp - asked) / 1e6;
}

inline double percentile(std::vector<double>& values, int per_cent) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, values.size() * static_cast<size_t>(per_cent) / 100)];
}

struct Figure {
  const char* name;
  double value = 0;
  double goal = 0;
  double limit = 0;
};
inline void print_ms(const Figure& figure) {
  fmt::print("{{\"name\":\"{}\",\"value\":{:.3f},\"unit\":\"ms\",\"better\":\"lower\",", figure.name, figure.value);
  fmt::print("\"goal\":{:.0f},\"limit\":{:.3f}}}\n", figure.goal, figure.limit);
}

}  // namespace moulin::bench
