#include "server/installation.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/codec.h"
#include "server/secrets.h"
#include "shim/files.h"
#include "shim/record.h"

namespace moulin {

namespace {

constexpr const char* kFile = "installation";
constexpr Bytes kFileMax = kibibytes(64);
constexpr size_t kIdBytes = 16;

struct InstallationRecord {
  std::string id{};
  std::string boot_id{};  // of the machine when it was last served
  uint64_t device = 0;    // of the folder
  uint64_t inode = 0;
  std::string path{};  // then; for people
  bool claims_unmarked = true;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "id", self.id);
    visit(2, "boot_id", self.boot_id);
    visit(3, "device", self.device);
    visit(4, "inode", self.inode);
    visit(5, "path", self.path);
    visit(6, "claims_unmarked", self.claims_unmarked);
  }
  bool is_same_place(const InstallationRecord& other) const { return device == other.device && inode == other.inode; }
};

Error is_copy(const std::string& path, const InstallationRecord& original) {
  return {.code = Code::kConflict,
          .message = "this data folder is a copy of " + original.path + ", whose workloads may still run",
          .given = path,
          .to_do =
              "serve the original; or, to go on with the history in this copy and leave what the original started "
              "alone, start once with --copy"};
}

Result<InstallationRecord> read_or_begin(const Fd& folder) {
  Result<std::string> bytes = read_file_in(folder, kFile, kFileMax);
  if (bytes) return decode_record<InstallationRecord>(kFile, *bytes);
  if (bytes.error().code != Code::kNotFound) return bytes.error();
  return InstallationRecord{};
}

}  // namespace

Result<Installation> identify(const DataFolder& folder, const std::string& boot_id, FolderOrigin origin) {
  Fd open = TRY(open_chosen_folder(folder.path()));
  struct stat facts{};
  if (::fstat(open.number(), &facts) != 0) return system_error("look at the data folder", errno);
  InstallationRecord known = TRY(read_or_begin(open));
  InstallationRecord now{.id = known.id,
                         .boot_id = boot_id,
                         .device = facts.st_dev,
                         .inode = facts.st_ino,
                         .path = folder.path(),
                         .claims_unmarked = known.claims_unmarked};
  bool begun = !known.id.empty();
  bool elsewhere = begun && !known.is_same_place(now);
  if (elsewhere && known.boot_id == boot_id && origin != FolderOrigin::kCopy) return is_copy(folder.path(), known);
  if (!begun || elsewhere) now.id = random_hex(kIdBytes);
  if (elsewhere) now.claims_unmarked = false;
  std::string bytes = encode_record(kFile, now);
  TRY(write_atomically(open, kFile, bytes, Durability::kDisk));
  return Installation{.id = now.id, .claims_unmarked = now.claims_unmarked};
}

}  // namespace moulin
