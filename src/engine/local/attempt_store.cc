#include "engine/local/attempt_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "shim/files.h"

namespace moulin {
namespace {

// Others may pass through, but not look: replicas under another account reach their
// `exchange` this way. Files inside are 0600.
constexpr mode_t kFolderMode = 0711;
constexpr int kAsideMax = 1000;

Result<int32_t> parse_number(std::string_view text) {
  int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  return Error{.code = Code::kInvalid, .message = "not a number"};
}

}  // namespace

std::string attempt_path(const ReplicaKey& key) {
  return fmt::format("{}/{}/{}", to_text(key.workload), key.attempt.value, key.replica.value);
}

std::string live_name(const ReplicaKey& key) {
  return fmt::format("{}.{}.{}", to_text(key.workload), key.attempt.value, key.replica.value);
}

std::string kept_folder(const std::string& attempt_folder) {
  std::filesystem::path path(attempt_folder);
  return path.parent_path().parent_path() / kKeptFolder / path.filename();
}

Result<ReplicaKey> parse_live_name(std::string_view name) {
  std::vector<std::string_view> parts = split(name, '.');
  if (parts.size() != 3) return Error{.code = Code::kInvalid, .message = "not the name of a replica"};
  ReplicaKey key;
  key.workload.number = TRY(parse_id(WorkloadTag::kPrefix, parts[0]));
  key.attempt.value = TRY(parse_number(parts[1]));
  key.replica.value = TRY(parse_number(parts[2]));
  return key;
}

Result<AttemptStore> AttemptStore::open(const std::string& data_folder) {
  Fd data = TRY(open_chosen_folder(data_folder));
  Fd root = TRY(make_folder_in(data, "attempts", kFolderMode));
  Fd live = TRY(make_folder_in(root, "live", 0700));
  return AttemptStore(data_folder + "/attempts", std::move(root), std::move(live));
}

Result<Fd> AttemptStore::open_folder(const ReplicaKey& key) const {
  Fd workload = TRY(open_folder_in(root_, to_text(key.workload)));
  Fd attempt = TRY(open_folder_in(workload, fmt::format("{}", key.attempt.value)));
  return open_folder_in(attempt, fmt::format("{}", key.replica.value));
}

Result<Fd> AttemptStore::make_folder(const ReplicaKey& key) const {
  Fd workload = TRY(make_folder_in(root_, to_text(key.workload), kFolderMode));
  Fd attempt = TRY(make_folder_in(workload, fmt::format("{}", key.attempt.value), kFolderMode));
  return make_folder_in(attempt, fmt::format("{}", key.replica.value), kFolderMode);
}

Result<Fd> AttemptStore::make_kept_folder(const ReplicaKey& key) const {
  Fd workload = TRY(make_folder_in(root_, to_text(key.workload), kFolderMode));
  Fd kept = TRY(make_folder_in(workload, kKeptFolder, kFolderMode));
  return make_folder_in(kept, fmt::format("{}", key.replica.value), 0700);
}

Status AttemptStore::move_aside(const ReplicaKey& key) const {
  Fd workload = TRY(open_folder_in(root_, to_text(key.workload)));
  Fd attempt = TRY(open_folder_in(workload, fmt::format("{}", key.attempt.value)));
  std::string name = fmt::format("{}", key.replica.value);
  for (int number = 1; number <= kAsideMax; ++number) {
    std::string other = fmt::format("{}.old-{}", name, number);
    if (::renameat2(attempt.number(), name.c_str(), attempt.number(), other.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno != EEXIST) return system_error(fmt::format("move {} aside", path(key)), errno);
  }
  return Error{.code = Code::kUnavailable,
               .message = fmt::format("too many old folders beside {}", path(key)),
               .to_do = "delete the .old- folders there"};
}

Status AttemptStore::mark_live(const ReplicaKey& key) const {
  Fd file(::openat(live_.number(), live_name(key).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error(fmt::format("mark {} as live", live_name(key)), errno);
  return {};
}

void AttemptStore::unmark_live(const ReplicaKey& key) const { ::unlinkat(live_.number(), live_name(key).c_str(), 0); }

Result<std::vector<ReplicaKey>> AttemptStore::live() const {
  // A descriptor of its own: reading moves the position, which duplicates share.
  Fd folder(::openat(live_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.number()), ::closedir);
  if (!entries) return system_error("read the list of live replicas", errno);
  folder.release();
  std::vector<ReplicaKey> keys;
  for (errno = 0; const dirent* entry = ::readdir(entries.get()); errno = 0) {
    if (Result<ReplicaKey> key = parse_live_name(entry->d_name)) keys.push_back(*key);
  }
  if (errno != 0) return system_error("read the list of live replicas", errno);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace moulin
