#include "server/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/json.h"
#include "journal/backup.h"
#include "journal/durable_file.h"
#include "journal/verify.h"

namespace moulin {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kFormat = 1;
constexpr Bytes kManifestMax = kibibytes(64);
constexpr int64_t kFilesMax = 10'000'000;

Error failed(const std::string& path, const std::error_code& error) { return file_error(path, "copy", error.value()); }

// What was copied so far.
struct Copied {
  int64_t files = 0;
  Bytes bytes{};
};

Status copy_file(const fs::path& from, const fs::path& to, Copied& copied) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error == std::errc::no_such_file_or_directory) return {};  // removed meanwhile, by retention
  if (error) return failed(from.string(), error);
  fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, error);
  if (error) return failed(to.string(), error);
  ++copied.files;
  copied.bytes += size_of_file(to.string());
  return {};
}

using Wanted = bool (*)(const fs::path& relative);

// Copies the regular files below `from` that are wanted; links are never followed.
Status copy_tree(const fs::path& from, const fs::path& to, Wanted is_wanted, Copied& copied) {
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(from, error))) return {};
  fs::recursive_directory_iterator entries(from, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code gone;
    if (entries->symlink_status(gone).type() != fs::file_type::regular) continue;
    fs::path relative = entries->path().lexically_relative(from);
    if (!is_wanted(relative)) continue;
    if (copied.files >= kFilesMax) {
      return Error{.code = Code::kTooLarge,
                   .message = fmt::format("{} has more files than a backup holds", from.string()),
                   .allowed = fmt::format("{} files", kFilesMax)};
    }
    fs::path target = to / relative;
    fs::create_directories(target.parent_path(), error);
    if (error) return failed(target.string(), error);
    TRY(copy_file(entries->path(), target, copied));
  }
  if (error) return failed(from.string(), error);
  return {};
}

// Contents and lists of code snapshots; the trees made from them are made again.
bool is_snapshot_source(const fs::path& relative) {
  std::string first = relative.begin()->string();
  return first == "objects" || first == "manifests";
}

bool is_log(const fs::path& relative) { return relative.extension() == ".log"; }

bool is_any(const fs::path&) { return true; }

Status make_private(const std::string& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (!error) fs::permissions(path, fs::perms::owner_all, error);
  if (error) return file_error(path, "make the folder", error.value());
  return {};
}

// Makes everything on the disk of `folder` durable: one call instead of one a file.
Status sync_all(const std::string& folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return file_error(folder, "open", errno);
  int number = ::syncfs(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (number != 0) return file_error(folder, "sync", number);
  return {};
}

// A folder that is removed again unless it gets its name.
class Staged {
 public:
  static Result<Staged> make(const std::string& name) {
    std::string beside = name + ".part";
    std::error_code error;
    fs::remove_all(beside, error);  // of an earlier try that was cut off
    TRY(make_private(beside));
    return Staged(beside);
  }
  Staged(Staged&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Staged& operator=(Staged&&) = delete;
  ~Staged() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  // Durable with all that is in it.
  Status give_name(const std::string& name) {
    TRY(sync_all(path_));
    TRY(publish_file(path_, name));
    path_.clear();
    return {};
  }

 private:
  explicit Staged(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<VerifyReport> verified(const std::string& journal, std::string_view to_do) {
  VerifyReport report = TRY(verify_journal(journal));
  if (report.good()) return report;
  return Error{.code = Code::kRefused,
               .message = fmt::format("the journal is damaged: {}", report.problems.front()),
               .to_do = std::string(to_do)};
}

Status write_manifest(const std::string& folder, const BackupReport& report) {
  std::string text = write_json(Json::object({{"format", kFormat},
                                              {"version", report.version},
                                              {"made_at", report.made_at},
                                              {"last", report.last.value},
                                              {"files", report.files},
                                              {"bytes", report.bytes.count}}));
  return replace_file(folder + "/backup.json", {text, "\n"});
}

int64_t number_in(const Json& json, std::string_view name) {
  const Json* value = json.find(name);
  Result<int64_t> number = value == nullptr ? Result<int64_t>(Error{}) : value->integer();
  return number ? *number : -1;
}

Result<BackupReport> read_manifest(const std::string& folder) {
  std::string path = folder + "/backup.json";
  Result<std::string> text = read_file(path, kManifestMax);
  if (!text && text.error().code == Code::kNotFound) {
    return Error{.code = Code::kNotFound,
                 .message = "no backup is there",
                 .given = folder,
                 .to_do = "name a folder that `moulin backup` made"};
  }
  if (!text) return text.error();
  Result<Json> json = parse_json(*text);
  int64_t format = json ? number_in(*json, "format") : -1;
  if (format > kFormat) {
    return Error{.code = Code::kRefused,
                 .message = "the backup was made by a newer Moulin",
                 .given = folder,
                 .to_do = "restore it with that version or a later one"};
  }
  BackupReport report;
  if (json) {
    report = {.last = {number_in(*json, "last")},
              .files = number_in(*json, "files"),
              .bytes = {number_in(*json, "bytes")},
              .version = json->find("version") != nullptr ? json->find("version")->string() : "",
              .made_at = number_in(*json, "made_at")};
  }
  if (format < 1 || report.last.value < 0 || report.files < 0) {
    return Error{.code = Code::kRefused,
                 .message = "the backup's list is damaged",
                 .given = path,
                 .to_do = "restore an older backup"};
  }
  return report;
}

Status check_target(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error)) || (fs::is_directory(folder) && fs::is_empty(folder, error)))
    return {};
  return Error{.code = Code::kConflict,
               .message = "the data folder holds something already",
               .given = folder,
               .to_do = "name a new folder with --data, or move this one away first"};
}

}  // namespace

Result<BackupReport> make_backup(const BackupRequest& request) {
  std::string journal = request.data_folder + "/journal.db";
  if (!exists(journal)) {
    return Error{.code = Code::kNotFound,
                 .message = "no data folder of Moulin is there",
                 .given = request.data_folder,
                 .to_do = "name it with --data"};
  }
  if (exists(request.backup)) {
    return Error{.code = Code::kConflict,
                 .message = "that is there already",
                 .given = request.backup,
                 .to_do = "give a name that is free, for example with the date in it"};
  }
  Staged staged = TRY(Staged::make(request.backup));
  std::string copy = staged.path() + "/journal.db";
  TRY(backup_journal({.journal = journal, .backup = copy}));
  // Whatever code the records name was stored before them, and is copied after them.
  Copied copied;
  TRY(copy_tree(request.data_folder + "/snapshots", staged.path() + "/snapshots", is_snapshot_source, copied));
  if (request.logs == BackupLogs::kInclude)
    TRY(copy_tree(request.data_folder + "/attempts", staged.path() + "/attempts", is_log, copied));
  VerifyReport found = TRY(verified(copy, "run `moulin journal verify`, and keep the backups you have"));
  BackupReport report{.last = found.last,
                      .files = copied.files,
                      .bytes = copied.bytes + size_of_file(copy),
                      .version = request.version,
                      .made_at = request.made_at};
  TRY(write_manifest(staged.path(), report));
  TRY(staged.give_name(request.backup));
  return report;
}

Result<BackupReport> restore_backup(const RestoreRequest& request) {
  BackupReport report = TRY(read_manifest(request.backup));
  TRY(check_target(request.data_folder));
  Staged staged = TRY(Staged::make(request.data_folder));
  TRY(restore_journal({.journal = staged.path() + "/journal.db", .backup = request.backup + "/journal.db"}));
  Copied copied;
  for (const char* part : {"/snapshots", "/attempts"}) {
    TRY(make_private(staged.path() + part));
    TRY(copy_tree(request.backup + part, staged.path() + part, is_any, copied));
  }
  VerifyReport restored = TRY(verified(staged.path() + "/journal.db", "restore an older backup"));
  if (restored.last != report.last || copied.files != report.files) {
    return Error{.code = Code::kRefused,
                 .message = fmt::format("the backup is not whole: it lists record {} and {} files, and has {} and {}",
                                        report.last.value, report.files, restored.last.value, copied.files),
                 .given = request.backup,
                 .to_do = "restore an older backup"};
  }
  TRY(staged.give_name(request.data_folder));
  return report;
}

}  // namespace moulin
