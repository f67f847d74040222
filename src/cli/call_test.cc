#include "cli/call.h"

#include <doctest/doctest.h>

#include "cli/help.h"
#include "cli/testing.h"

namespace moulin {

namespace {

Result<Call> parse(std::vector<std::string_view> arguments) { return parse_call(verbs(), arguments); }

}  // namespace

TEST_CASE("options stand before, between and after words") {
  Call call = parse({"logs", "-f", "sweep-7", "--tail", "5", "--replica=2", "--json"}).value();
  CHECK(call.verb->name == "logs");
  CHECK(call.words == std::vector<std::string>{"sweep-7"});
  CHECK(call.has("follow"));
  CHECK(*call.value("tail") == "5");
  CHECK(*call.value("replica") == "2");
  CHECK_FALSE(call.value("since"));
  CHECK(call.form == Form::kJson);
  CHECK(parse({"--json", "ps"}).value().form == Form::kJson);
}

TEST_CASE("what stands after -- is the command, whatever it looks like") {
  Call call = parse({"run", "-d", "-g0.25", "--env", "A=b", "-e", "C", "--", "python", "-f", "--json", "--"}).value();
  CHECK(call.command == std::vector<std::string>{"python", "-f", "--json", "--"});
  CHECK(call.has("detach"));
  CHECK(*call.value("gpu") == "0.25");
  CHECK(call.values("env") == std::vector<std::string>{"A=b", "C"});
  CHECK(call.form == Form::kText);
}

TEST_CASE("a value may begin with a dash") {
  CHECK(*parse({"run", "--priority", "-5", "--", "x"}).value().value("priority") == "-5");
  CHECK(parse({"apply", "-f", "-"}).value().value("file")->front() == '-');
}

TEST_CASE("verbs of two words") {
  CHECK(parse({"project", "create", "nlp", "--limit", "8"}).value().verb->name == "project create");
  CHECK(parse({"help", "project", "create"}).value().wants_help);
  CHECK(parse({"project", "create", "--help"}).value().wants_help);
  CHECK(parse({}).value().verb == nullptr);
}

TEST_CASE("every verb has a help that fits a terminal, and unambiguous options") {
  for (const Verb& verb : verbs()) {
    CAPTURE(std::string(verb.name));
    std::string help = verb_help(verb);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(columns_of(line) <= 100, line);
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

TEST_CASE("help and refusals read as they should") {
  testing::check_snapshot("help", overall_help(verbs(), {}));
  testing::check_snapshot("help_run", verb_help(*parse({"run", "--help"}).value().verb));
  testing::check_snapshot("help_project_quota", verb_help(*parse({"help", "project", "quota"}).value().verb));
  std::string refusals;
  std::vector<std::vector<std::string_view>> calls{
      {"pz"},
      {"exec", "x"},
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
      {"--verbose", "ps"},
  };
  for (const auto& arguments : calls) {
    refusals += "$ moulin";
    for (std::string_view argument : arguments) refusals += " " + std::string(argument);
    Result<Call> call = parse(arguments);
    REQUIRE_FALSE(call);
    refusals += "\n" + error_text(call.error(), {}) + "\n";
  }
  testing::check_snapshot("refused_calls", refusals);
}

}  // namespace moulin
