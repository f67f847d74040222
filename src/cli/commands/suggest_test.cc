// What a shell hears at a Tab.
#include "cli/testing.h"

namespace moulin::cli {

namespace {

using testing::FakeServer;
using testing::Run;

}  // namespace

TEST_CASE("candidates are on lines of their own, with what they are") {
  Run run;
  CHECK(run({"__complete", "project", "cr"}) == 0);
  CHECK(run.out == "create\ta new project\n");
  CHECK(run({"__complete", "apply", "-f", ""}) == 0);
  CHECK(run.out == ":file\n");
  CHECK(run({"__complete"}) == 0);
  CHECK(run.out.find("run\trun a command") != std::string::npos);
}

TEST_CASE("names come from the server") {
  FakeServer server;
  server.on("GET /api/v1/projects", 200,
            R"({"items":[{"name":"nlp","kind":"project","parent":null,"created":"2026-03-01T11:00:00Z","quotas":[]},)"
            R"({"name":"vision","kind":"project","parent":null,"created":"2026-03-01T11:00:00Z","quotas":[]}]})");
  Run run;
  CHECK(run.with_server(server)({"__complete", "run", "--project", "v"}) == 0);
  CHECK(run.out == "vision\tproject\n");
  CHECK(run({"__complete", "show", "x"}) == 0);  // the server refuses the list: silence
  CHECK(run.out.empty());
  CHECK(run.err.empty());
  Run alone;
  CHECK(alone.with_variable("MOULIN_DATA", "/nowhere")({"__complete", "show", ""}) == 0);
  CHECK(alone.out.empty());
  CHECK(alone.err.empty());
}

TEST_CASE("the scripts of shells ask the hidden verb") {
  Run run;
  for (std::string_view shell : {"bash", "zsh", "fish"}) {
    CHECK(run({"completion", shell}) == 0);
    CHECK(run.out.find("__complete") != std::string::npos);
  }
  CHECK(run({"completion", "tcsh"}) == 2);
  CHECK(run.err.find("bash, zsh or fish") != std::string::npos);
}

}  // namespace moulin::cli
