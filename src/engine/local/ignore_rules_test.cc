#include "engine/local/ignore_rules.h"

#include <doctest/doctest.h>

namespace moulin {
namespace {

TEST_CASE("patterns") {
  struct Case {
    const char* pattern;
    const char* path;
    bool matches;
  };
  for (const Case& c : {Case{"*.pyc", "a.pyc", true}, {"*.pyc", "a.py", false}, {"a?c", "abc", true},
                        {"a?c", "a/c", false}, {"*", "a/b", false}, {"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false},
                        {"[!a-c]x", "dx", true}, {"[]]", "]", true}, {"[a", "[a", true}, {"\\*", "*", true},
                        {"\\*", "a", false}, {"a/b", "a/b", true}, {"a/*/c", "a/b/c", true}, {"a/*/c", "a/c", false},
                        {"**/c", "c", true}, {"**/c", "a/b/c", true}, {"a/**", "a/b/c", true}, {"a/**", "a", false},
                        {"a/**/d", "a/d", true}, {"a/**/d", "a/b/c/d", true}, {"a/**/d", "a/b/c", false},
                        {"**/a/**/b", "x/a/y/a/z/b", true}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false}}) {
    CAPTURE(c.pattern);
    CAPTURE(c.path);
    CHECK(glob_matches(c.pattern, c.path) == c.matches);
  }
}

TEST_CASE("many stars do not take for ever") {
  std::string pattern, text(5000, 'a');
  for (int i = 0; i < 500; ++i) pattern += "*a";
  CHECK_FALSE(glob_matches(pattern + "b", text));
  std::string deep, path;
  for (int i = 0; i < 200; ++i) {
    deep += "**/a/";
    path += "a/";
  }
  CHECK_FALSE(glob_matches(deep + "b", path + "c"));
}

TEST_CASE("rules as in a .gitignore file") {
  using Verdict = IgnoreRules::Verdict;
  IgnoreRules rules("# comment\r\n\n*.log   \n!keep.log\nbuild/\n/top\nsub/dir\n\\#odd\n\\!odd\nspace\\ \n");
  CHECK(rules.judge("x/a.log", EntryKind::kFile) == Verdict::kIgnore);
  CHECK(rules.judge("x/keep.log", EntryKind::kFile) == Verdict::kKeep);
  CHECK(rules.judge("x/build", EntryKind::kFolder) == Verdict::kIgnore);
  CHECK_FALSE(rules.judge("x/build", EntryKind::kFile));
  CHECK(rules.judge("top", EntryKind::kFile) == Verdict::kIgnore);
  CHECK_FALSE(rules.judge("x/top", EntryKind::kFile));
  CHECK(rules.judge("sub/dir", EntryKind::kFolder) == Verdict::kIgnore);
  CHECK_FALSE(rules.judge("x/sub/dir", EntryKind::kFolder));
  CHECK(rules.judge("#odd", EntryKind::kFile) == Verdict::kIgnore);
  CHECK(rules.judge("!odd", EntryKind::kFile) == Verdict::kIgnore);
  CHECK(rules.judge("space ", EntryKind::kFile) == Verdict::kIgnore);
  CHECK_FALSE(rules.judge("main.py", EntryKind::kFile));
  CHECK_FALSE(IgnoreRules().judge("anything", EntryKind::kFile));
}

}  // namespace
}  // namespace moulin
