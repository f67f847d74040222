#include "server/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "base/json.h"

namespace moulin {

namespace {

std::string wall_time() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  char text[40];
  size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return std::string(text, size) + "." + std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1) + "Z";
}

}  // namespace

ServerLog::ServerLog(std::string path) : path_(std::move(path)) { reopen(); }

ServerLog::~ServerLog() {
  if (file_ >= 0) ::close(file_);
}

void ServerLog::info(std::string_view message) { write("info", message); }

void ServerLog::warning(std::string_view message) {
  write("warning", message);
  std::fprintf(stderr, "moulin: %.*s\n", static_cast<int>(message.size()), message.data());
}

void ServerLog::write(std::string_view level, std::string_view message) {
  std::string line = write_json(Json::object({{"time", wall_time()}, {"level", level}, {"message", message}})) + "\n";
  std::lock_guard lock(mutex_);
  if (bytes_ > kBytesMax && ::rename(path_.c_str(), (path_ + ".1").c_str()) == 0) reopen();
  if (file_ < 0) return;
  ssize_t size = ::write(file_, line.data(), line.size());
  bytes_ += size > 0 ? size : 0;
}

void ServerLog::reopen() {
  if (file_ >= 0) ::close(file_);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat about{};
  bytes_ = file_ >= 0 && ::fstat(file_, &about) == 0 ? static_cast<long>(about.st_size) : 0;
}

}  // namespace moulin
