#include "engine/local/ignore_rules.h"

#include "base/text.h"

namespace moulin {
namespace {

// The end of a bracket expression that starts at `at`; npos when it is not closed.
size_t bracket_end(std::string_view pattern, size_t at) {
  size_t first = at + 1;
  if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
  return pattern.find(']', first + 1);
}

bool in_bracket(std::string_view set, char c) {
  bool negated = set.front() == '!' || set.front() == '^';
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (size_t i = 0; i < set.size(); ++i) {
    bool range = i + 2 < set.size() && set[i + 1] == '-';
    found |= range ? set[i] <= c && c <= set[i + 2] : set[i] == c;
    if (range) i += 2;
  }
  return found != negated;
}

// How many characters of the pattern match this one character; 0: none.
size_t match_one(std::string_view pattern, size_t at, char c) {
  char p = pattern[at];
  if (p == '?') return 1;
  if (p == '\\' && at + 1 < pattern.size()) return pattern[at + 1] == c ? 2 : 0;
  if (p == '[') {
    size_t end = bracket_end(pattern, at);
    if (end != pattern.npos) return in_bracket(pattern.substr(at + 1, end - at - 1), c) ? end - at + 1 : 0;
  }
  return p == c ? 1 : 0;
}

// One part without slashes. On a mismatch only the last star takes one more character.
bool part_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = pattern.npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    size_t taken = p < pattern.size() ? match_one(pattern, p, text[t]) : 0;
    if (taken > 0) {
      p += taken;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  std::vector<std::string_view> want = split(pattern, '/');
  std::vector<std::string_view> have = split(path, '/');
  // The same idea one level up: `**` is the star, parts are the characters.
  size_t p = 0, t = 0;
  size_t star = want.size(), star_part = 0;
  while (t < have.size()) {
    if (p < want.size() && want[p] == "**") {
      // At the end it stands for at least one part: "a/**" is what is in a, not a.
      star = p++;
      star_part = p == want.size() ? t + 1 : t;
      t = star_part;
    } else if (p < want.size() && part_matches(want[p], have[t])) {
      ++p;
      ++t;
    } else if (star < want.size()) {
      p = star + 1;
      t = ++star_part;
    } else {
      return false;
    }
  }
  return p == want.size() && t == have.size();
}

IgnoreRules::IgnoreRules(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (rules_.size() == kRulesMax) return;
    add(line);
  }
}

void IgnoreRules::add(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  if (line.empty() || line.starts_with('#')) return;
  Rule rule;
  if (line.starts_with('!')) {
    rule.verdict = Verdict::kKeep;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    rule.folders_only = true;
    line.remove_suffix(1);
  }
  rule.anchored = line.find('/') != line.npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (line.empty()) return;
  rule.pattern = line;
  rules_.push_back(std::move(rule));
}

std::optional<IgnoreRules::Verdict> IgnoreRules::judge(std::string_view path, EntryKind kind) const {
  size_t slash = path.rfind('/');
  std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->folders_only && kind != EntryKind::kFolder) continue;
    if (glob_matches(rule->pattern, rule->anchored ? path : name)) return rule->verdict;
  }
  return std::nullopt;
}

}  // namespace moulin
