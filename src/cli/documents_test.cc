// docs/cli.md names every verb and every exit status, and nothing else.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace moulin::cli {

namespace {

std::string document() {
  std::ifstream file("docs/cli.md");
  REQUIRE_MESSAGE(file.good(), "run from the root of the sources");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The rows of the table below that line.
std::vector<std::string> table_below(const std::string& text, const std::string& heading) {
  size_t begin = text.find(heading);
  REQUIRE(begin != std::string::npos);
  std::istringstream lines(text.substr(begin));
  std::vector<std::string> rows;
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);  // | --- |
  while (std::getline(lines, line) && line.starts_with('|')) rows.push_back(line);
  return rows;
}

std::set<std::string> words_in_ticks(const std::string& row) {
  std::set<std::string> words;
  std::vector<std::string_view> parts = split(row, '`');
  for (size_t i = 1; i < parts.size(); i += 2) words.emplace(parts[i]);
  return words;
}

}  // namespace

TEST_CASE("the table of verbs in docs/cli.md is the table of verbs") {
  std::string all;
  for (const std::string& row : table_below(document(), "| to | verb |")) all += row + "\n";
  std::set<std::string> expected;
  for (const Verb& verb : verbs()) {
    std::string first(verb.name.substr(0, verb.name.find(' ')));
    std::string seconds;
    for (std::string_view word : second_words(verbs(), first))
      seconds += (seconds.empty() ? "" : ", ") + std::string(word);
    expected.insert(first);
    std::string written = seconds.empty() ? "`" + first + "`" : "`" + first + "` " + seconds;
    CHECK_MESSAGE(all.find(written) != std::string::npos, "docs/cli.md lacks " << written);
  }
  CHECK(words_in_ticks(all) == expected);
}

TEST_CASE("the exit statuses in docs/cli.md are those of the program") {
  std::set<std::string> written;
  for (const std::string& row : table_below(document(), "| status | when |")) written.emplace(split(row, '|').at(1));
  std::set<std::string> used{" 0 ", " " + std::to_string(kInterruptedStatus) + " "};
  for (size_t code = 0; code <= static_cast<size_t>(Code::kUnavailable); ++code)
    used.insert(" " + std::to_string(exit_status(static_cast<Code>(code))) + " ");
  CHECK(written == used);
}

}  // namespace moulin::cli
