#include "shim/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

namespace moulin {

Error system_error(std::string_view what, int number) {
  const char* text = strerrordesc_np(number);
  const char* name = strerrorname_np(number);
  return Error{.code = number == ENOENT ? Code::kNotFound : Code::kUnavailable,
               .message = fmt::format("cannot {}: {}", what, text != nullptr ? text : "unknown error"),
               .given = name != nullptr ? name : ""};
}

Result<Fd> open_folder(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error(fmt::format("open the folder {}", path), errno);
  return folder;
}

// Behind "/." the link is no longer the last part.
Result<Fd> open_chosen_folder(const std::string& path) { return open_folder(path + "/."); }

Result<Fd> open_folder_in(const Fd& parent, const std::string& name) {
  Fd folder(::openat(parent.number(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return system_error(fmt::format("open the folder {}", name), errno);
  return folder;
}

Result<Fd> make_folder_in(const Fd& parent, const std::string& name, mode_t mode) {
  if (::mkdirat(parent.number(), name.c_str(), mode) != 0 && errno != EEXIST) {
    return system_error(fmt::format("make the folder {}", name), errno);
  }
  return open_folder_in(parent, name);
}

namespace {

Result<std::string> read_open_file(const Fd& file, const std::string& name, Bytes limit) {
  std::string bytes;
  char buffer[16384];
  while (true) {
    ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(fmt::format("read {}", name), errno);
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
    if (static_cast<int64_t>(bytes.size()) > limit.count) {
      return Error{.code = Code::kTooLarge,
                   .message = fmt::format("{} is too large", name),
                   .allowed = fmt::format("at most {}", to_text(limit))};
    }
  }
}

}  // namespace

Result<std::string> read_file_in(const Fd& folder, const std::string& name, Bytes limit) {
  // O_NONBLOCK: a named pipe in place of the file must not hold us up.
  Fd file(::openat(folder.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return system_error(fmt::format("open {}", name), errno);
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) return system_error(fmt::format("look at {}", name), errno);
  if (!S_ISREG(facts.st_mode)) {
    return Error{.code = Code::kInvalid, .message = fmt::format("{} is not a regular file", name)};
  }
  return read_open_file(file, name, limit);
}

Result<std::string> read_file_at(const std::string& path, Bytes limit) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error(fmt::format("open {}", path), errno);
  return read_open_file(file, path, limit);
}

Status write_all(const Fd& file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(file.number(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("write", errno);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

namespace {

Status write_new_file(const Fd& folder, const std::string& name, std::string_view bytes, Durability durability,
                      std::optional<FileOwner> owner) {
  Fd file(::openat(folder.number(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error(fmt::format("create {}", name), errno);
  TRY(write_all(file, bytes));
  if (owner && ::fchown(file.number(), owner->uid, owner->gid) != 0) {
    return system_error(fmt::format("give {} to its owner", name), errno);
  }
  if (durability == Durability::kDisk && ::fsync(file.number()) != 0) return system_error("fsync " + name, errno);
  return {};
}

}  // namespace

Status write_atomically(const Fd& folder, const std::string& name, std::string_view bytes, Durability durability,
                        std::optional<FileOwner> owner) {
  std::string temporary = fmt::format(".{}.{}", name, ::getpid());
  ::unlinkat(folder.number(), temporary.c_str(), 0);
  Status written = write_new_file(folder, temporary, bytes, durability, owner);
  if (written && ::renameat(folder.number(), temporary.c_str(), folder.number(), name.c_str()) != 0) {
    written = system_error(fmt::format("rename {} to {}", temporary, name), errno);
  }
  if (!written) {
    ::unlinkat(folder.number(), temporary.c_str(), 0);
    return written;
  }
  if (durability == Durability::kDisk && ::fsync(folder.number()) != 0) return system_error("fsync the folder", errno);
  return {};
}

}  // namespace moulin
