// Small files in folders that we hold open.
//
// Every path is one name inside an open folder, and symbolic links are never followed,
// so whoever can write to a folder cannot lead us out of it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/share.h"
#include "shim/fd.h"

namespace moulin {

// "cannot <what>: <text of the system's error>". kUnavailable; kNotFound for ENOENT.
// `number` is an errno. Keeps it as Error::given by name, e.g. "ENOSPC".
Error system_error(std::string_view what, int number);

// Opens a folder by path; the last part may not be a symbolic link.
Result<Fd> open_folder(const std::string& path);
// The same, but a link is followed: for a folder that the administrator chose.
Result<Fd> open_chosen_folder(const std::string& path);
// A folder by one name inside `parent`. kNotFound when there is none.
Result<Fd> open_folder_in(const Fd& parent, const std::string& name);
// Makes a folder if there is none, and opens it.
Result<Fd> make_folder_in(const Fd& parent, const std::string& name, mode_t mode);

// The whole file. kNotFound; kTooLarge above `limit`; kInvalid when it is no regular file.
Result<std::string> read_file_in(const Fd& folder, const std::string& name, Bytes limit);
// The same by path, for files of /proc and /sys. Follows links.
Result<std::string> read_file_at(const std::string& path, Bytes limit);

enum class Durability {
  kProcess,  // survives the death of a process
  kDisk,     // survives the loss of power (fsync of file and folder)
};
struct FileOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};
// Readers see the old content or the new, never a part. Mode 0600; belongs to us, or to
// `owner`. A failure leaves the old content, and no other file behind.
Status write_atomically(const Fd& folder, const std::string& name, std::string_view bytes, Durability durability,
                        std::optional<FileOwner> owner = std::nullopt);

// Writes all bytes or fails; for descriptors that block.
Status write_all(const Fd& file, std::string_view bytes);

}  // namespace moulin
