#include "cli/call.h"

#include <doctest/doctest.h>

#include "cli/help.h"
#include "cli/testing.h"

namespace moulin::cli {

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

TEST_CASE("words of habit and of later are answered") {
  CHECK(parse({"kill", "x"}).error().to_do.starts_with("did you mean `stop`?"));
  CHECK(parse({"nodes"}).error().to_do.starts_with("did you mean `node list`?"));
  CHECK(parse({"flow"}).error().message == "`moulin flow` is not built yet");
}

TEST_CASE("--version is a verb that asks no server") {
  Call call = parse({"--version", "--json"}).value();
  CHECK(call.verb->name == "version");
  CHECK(call.has("client"));
  CHECK(call.form == Form::kJson);
  CHECK(parse({"-V"}).value().verb->name == "version");
}

TEST_CASE("a topic has a help of its own") {
  for (auto arguments : {std::vector<std::string_view>{"project", "--help"}, {"help", "project"}, {"project", "-h"}}) {
    Call call = parse(arguments).value();
    CHECK(call.verb == nullptr);
    CHECK(call.topic == "project");
  }
  CHECK_FALSE(parse({"project"}));
  CHECK_FALSE(parse({"project", "crate", "--help"}));
  CHECK(parse({"project", "create", "--help"}).value().topic.empty());
}

}  // namespace moulin::cli
