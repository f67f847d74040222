// Which files of a code folder are left out of a snapshot: the rules of .gitignore.
//
// Supported, as git documents them: comments and blank lines, `\` before a special
// character, `!` to take back, a slash at the end for folders only, a slash in front or in
// the middle to bind the pattern to the folder of its file, `*`, `?`, `[a-z]`, `[!a-z]`
// and `**`. A file in a folder that is left out cannot be taken back. Not supported:
// .git/info/exclude, global ignore files, character classes such as [[:alpha:]].
// `.git` is always left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moulin {

// Does a name, or a path with slashes, match? `*`, `?` and `[]` do not match a slash;
// `**` as a whole part matches any number of parts. Takes time in proportion to pattern
// times text for each part, whatever the pattern.
bool glob_matches(std::string_view pattern, std::string_view path);

enum class EntryKind { kFile, kFolder };

// The rules of one .gitignore file. The last one that matches decides.
class IgnoreRules {
 public:
  IgnoreRules() = default;
  // Lines beyond kRulesMax are not read.
  explicit IgnoreRules(std::string_view text);

  enum class Verdict { kIgnore, kKeep };
  // For a path relative to the folder of the file; nothing when no rule matches.
  std::optional<Verdict> judge(std::string_view path, EntryKind kind) const;

  static constexpr size_t kRulesMax = 10'000;

 private:
  struct Rule {
    std::string pattern;
    Verdict verdict = Verdict::kIgnore;
    bool folders_only = false;
    bool anchored = false;  // else it is matched with the last part of the path
  };
  void add(std::string_view line);
  std::vector<Rule> rules_;
};

}  // namespace moulin
