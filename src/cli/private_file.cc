#include "cli/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "api/socket.h"

namespace moulin::cli {

namespace {

Error cannot_write(const std::string& path, int reason) {
  return {.code = reason == EACCES ? Code::kForbidden : Code::kUnavailable,
          .message = std::string("cannot be written: ") + std::strerror(reason),
          .field = path,
          .to_do = "check the folder and its permissions"};
}

// Each folder above the file that is not there yet, for its owner only.
Status make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return cannot_write(folder, errno);
  }
  return {};
}

// Beside its place first, so that what was there before stays whole if this fails.
}  // namespace

Status write_private_file(const std::string& path, const std::string& text) {
  TRY(make_folders(path));
  std::string beside = path + ".new";
  ::unlink(beside.c_str());
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return cannot_write(path, errno);
  bool whole = ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (whole && ::fsync(file.number()) == 0 && ::rename(beside.c_str(), path.c_str()) == 0) return {};
  int reason = whole ? errno : ENOSPC;
  ::unlink(beside.c_str());
  return cannot_write(path, reason);
}

Status remove_private_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return {};
  if (errno == ENOENT) return Error{.code = Code::kNotFound, .message = "is not there", .field = path};
  return cannot_write(path, errno);
}

}  // namespace moulin::cli
