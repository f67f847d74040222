#include "engine/local/code_walk.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "engine/local/ignore_rules.h"
#include "shim/files.h"

namespace moulin {
namespace {

constexpr Bytes kIgnoreFileMax = mebibytes(1);

Result<std::vector<std::string>> names_in(const Fd& folder) {
  Fd copy(::openat(folder.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy.number()), ::closedir);
  if (!entries) return system_error("read a code folder", errno);
  copy.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != ".." && name != ".git") names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

class Walk {
 public:
  explicit Walk(const std::function<Status(const WalkedEntry&)>& visit) : visit_(visit) {}

  // `prefix` is empty or ends with a slash.
  Status folder(const Fd& folder, const std::string& prefix) {
    if (levels_.size() >= static_cast<size_t>(kCodeDepthMax)) {
      return Error{.code = Code::kRefused,
                   .message = fmt::format("the code folder is nested too deeply at {}", prefix),
                   .allowed = fmt::format("{} levels", kCodeDepthMax),
                   .to_do = "add the folder to .gitignore, or use `code: live`"};
    }
    Result<std::string> ignore = read_file_in(folder, ".gitignore", kIgnoreFileMax);
    levels_.push_back({.start = prefix.size(), .rules = IgnoreRules(ignore ? *ignore : "")});
    std::vector<std::string> names = TRY(names_in(folder));
    for (const std::string& name : names) TRY(entry(folder, name, prefix + name));
    levels_.pop_back();
    return {};
  }

 private:
  struct Level {
    size_t start = 0;  // where paths relative to this folder begin
    IgnoreRules rules;
  };

  Status entry(const Fd& parent, const std::string& name, const std::string& path) {
    struct stat facts {};
    if (::fstatat(parent.number(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return {};  // gone meanwhile
    bool is_folder = S_ISDIR(facts.st_mode);
    if (is_ignored(path, is_folder ? EntryKind::kFolder : EntryKind::kFile)) return {};
    TRY(visit_({.folder = parent, .name = name, .path = path, .facts = facts}));
    if (!is_folder) return {};
    Fd below = TRY(open_folder_in(parent, name));
    return folder(below, path + "/");
  }

  // The deepest file with an opinion decides.
  bool is_ignored(std::string_view path, EntryKind kind) const {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      std::optional<IgnoreRules::Verdict> verdict = level->rules.judge(path.substr(level->start), kind);
      if (verdict) return *verdict == IgnoreRules::Verdict::kIgnore;
    }
    return false;
  }

  const std::function<Status(const WalkedEntry&)>& visit_;
  std::vector<Level> levels_;
};

}  // namespace

Status walk_code(const std::string& folder, const std::function<Status(const WalkedEntry&)>& visit) {
  Fd root = TRY(open_chosen_folder(folder));
  return Walk(visit).folder(root, "");
}

}  // namespace moulin
