#include "cli/help.h"

#include <set>

#include "base/text.h"
#include "cli/call.h"
#include "cli/columns.h"
#include "cli/testing.h"
#include "cli/words.h"

namespace moulin::cli {

namespace {

// The words of an example, as a shell would cut them; what follows | or < is the shell's.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::string_view word : split(line, ' ')) {
    if (word == "|" || word == "<") break;
    words.emplace_back(word);
  }
  return words;
}

Result<Call> parse(const std::vector<std::string>& words) {
  std::vector<std::string_view> arguments(words.begin(), words.end());
  return parse_call(verbs(), arguments);
}

// Every word of the help that stands for a value is known, so that a shell can complete it.
void check_words(const Verb& verb) {
  for (const OptionSpec& option : verb.options) {
    if (!option.value.empty()) CHECK_MESSAGE(find_value_word(option.value) != nullptr, option.value);
  }
  for (std::string_view word : split(verb.arguments, ' ')) {
    if (word.empty() || word == "at") continue;
    if (word.starts_with('[')) word = word.substr(1, word.size() - 2);
    CHECK_MESSAGE(find_value_word(word) != nullptr, word);
  }
}

std::string first_word(std::string_view name) { return std::string(name.substr(0, name.find(' '))); }

}  // namespace

TEST_CASE("every verb has a help that fits a terminal, and unambiguous options") {
  for (const Verb& verb : verbs()) {
    CAPTURE(std::string(verb.name));
    for (int32_t width : {0, 60, 80}) {
      std::istringstream lines(verb_help(verb, {.width = width}));
      for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(columns_of(line) <= 100, line);
    }
    check_words(verb);
    for (const OptionSpec& option : verb.options) {
      auto alike = [&](const OptionSpec& other) {
        return other.name == option.name || (other.letter != 0 && other.letter == option.letter);
      };
      CHECK(std::count_if(verb.options.begin(), verb.options.end(), alike) == 1);
      CHECK(option.name != "json");
      CHECK(option.letter != 'h');
    }
  }
}

TEST_CASE("every verb has examples that are calls of it") {
  for (const Verb& verb : verbs()) {
    CAPTURE(std::string(verb.name));
    REQUIRE_FALSE(verb.examples.empty());
    bool has_own = false;
    for (std::string_view line : split(verb.examples, '\n')) {
      CAPTURE(std::string(line));
      if (line.starts_with("source <(")) line = line.substr(9, line.size() - 10);
      std::vector<std::string> words = words_of(line);
      REQUIRE(words.front() == "moulin");
      words.erase(words.begin());
      Result<Call> call = parse(words);
      REQUIRE_MESSAGE(call.has_value(), (call ? "" : call.error().to_text()));
      has_own = has_own || call->verb == &verb;
    }
    CHECK(has_own);
  }
}

// One file for each, and one of all that begin with the same word.
TEST_CASE("help reads as it should") {
  testing::check_snapshot("help", overall_help(verbs(), {}));
  std::set<std::string> topics;
  for (const Verb& verb : verbs()) {
    std::string file(verb.name);
    std::replace(file.begin(), file.end(), ' ', '_');
    testing::check_snapshot("help_" + file, verb_help(verb, {}));
    if (file.size() > first_word(verb.name).size()) topics.insert(first_word(verb.name));
  }
  for (const std::string& topic : topics) testing::check_snapshot("topic_" + topic, topic_help(verbs(), topic, {}));
}

TEST_CASE("refusals read as they should") {
  std::string refusals;
  std::vector<std::vector<std::string>> calls{
      {"pz"},
      {"kill", "x"},
      {"cost", "x"},
      {"project"},
      {"project", "crate", "x"},
      {"run", "python", "train.py"},
      {"run", "--gpuu", "1", "--", "x"},
      {"run", "--gpu", "--", "x"},
      {"run", "--gpu", "1", "--gpu", "2", "--", "x"},
      {"run", "--"},
      {"run", "--detach=yes", "--", "x"},
      {"run", "-x", "--", "y"},
      {"show"},
      {"show", "a", "b"},
      {"ps", "--", "x"},
      {"login", "--token", "x"},
      {"up", "--simulat", "8xH100"},
      {"--verbose", "ps"},
  };
  for (const auto& arguments : calls) {
    refusals += "$ moulin";
    for (const std::string& argument : arguments) refusals += " " + argument;
    Result<Call> call = parse(arguments);
    REQUIRE_FALSE(call);
    refusals += "\n" + error_text(call.error(), {}) + "\n";
  }
  testing::check_snapshot("refused_calls", refusals);
}

}  // namespace moulin::cli
