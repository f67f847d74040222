// What the server has to say, as JSON lines: to a file, and the important ones also to
// stderr for whoever started it. Thread-safe. No secrets, ever.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace moulin {

class ServerLog {
 public:
  // Appends to the file; moves it to "<path>.1" when it grows above kBytesMax. A file
  // that cannot be opened is done without: stderr remains.
  explicit ServerLog(std::string path);
  ~ServerLog();
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

  void info(std::string_view message);
  void warning(std::string_view message);

  static constexpr long kBytesMax = 16L << 20;

 private:
  void write(std::string_view level, std::string_view message);
  void reopen();

  std::mutex mutex_;
  const std::string path_;
  int file_ = -1;
  long bytes_ = 0;
};

}  // namespace moulin
