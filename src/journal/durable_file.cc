#include "journal/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace moulin {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// For folders too: a new name is durable only then.
Status sync(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return file_error(path, "open", errno);
  const int failure = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (failure != 0) return file_error(path, "fsync", failure);
  return {};
}

Status write_new(const std::string& path, const std::vector<std::string_view>& parts) {
  const File file(std::fopen(path.c_str(), "wbe"));
  if (!file) return file_error(path, "create", errno);
  if (::fchmod(::fileno(file.get()), S_IRUSR | S_IWUSR) != 0) return file_error(path, "protect", errno);
  for (const std::string_view part : parts) {
    if (std::fwrite(part.data(), 1, part.size(), file.get()) != part.size()) return file_error(path, "write", errno);
  }
  if (std::fflush(file.get()) != 0) return file_error(path, "write", errno);
  return {};
}

}  // namespace

const char* advice_on(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free space on this disk, or raise the quota; writes resume by themselves";
    case EROFS:
    case EACCES:
    case EPERM:
      return "make the folder writable for this user; writes resume by themselves";
    default:
      return "check the folder and the disk (dmesg); writes resume by themselves";
  }
}

Error file_error(const std::string& path, std::string_view doing, int number) {
  return {.code = number == ENOENT ? Code::kNotFound : Code::kUnavailable,
          .message = fmt::format("cannot {} {}: {}", doing, path, std::strerror(number)),
          .to_do = advice_on(number)};
}

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return sync(folder_of(path));
  if (errno == EEXIST) return {};
  return file_error(path, "make the folder", errno);
}

Status replace_file(const std::string& path, const std::vector<std::string_view>& parts) {
  const std::string fresh = path + ".new";
  Status written = write_new(fresh, parts);
  if (written) written = publish_file(fresh, path);
  if (!written) remove_file(fresh);
  return written;
}

Status publish_file(const std::string& fresh, const std::string& path) {
  TRY(sync(fresh));
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return file_error(path, "replace", errno);
  return sync(folder_of(path));
}

Status make_private_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return file_error(path, "create", errno);
  ::close(descriptor);
  return {};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void remove_file(const std::string& path) { ::unlink(path.c_str()); }

Result<std::string> read_file(const std::string& path, Bytes most) {
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file) return file_error(path, "open", errno);
  struct stat about{};
  if (::fstat(::fileno(file.get()), &about) != 0) return file_error(path, "look at", errno);
  if (about.st_size > most.count) {
    return Error{.code = Code::kTooLarge,
                 .message = fmt::format("{} is too large", path),
                 .given = to_text(Bytes{about.st_size}),
                 .allowed = "at most " + to_text(most)};
  }
  std::string bytes(static_cast<size_t>(about.st_size), '\0');
  const size_t read = std::fread(bytes.data(), 1, bytes.size(), file.get());
  if (std::ferror(file.get()) != 0) return file_error(path, "read", errno);
  bytes.resize(read);
  return bytes;
}

Bytes size_of_file(const std::string& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 ? Bytes{about.st_size} : Bytes{};
}

}  // namespace moulin
