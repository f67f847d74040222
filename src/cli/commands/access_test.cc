// login, logout and whoami, as a person meets them.
#include "cli/testing.h"

namespace moulin::cli {

namespace {

using testing::FakeServer;
using testing::Run;

const std::string kWhoAmI = "GET /api/v1/whoami";
const std::string kFile = "/home/ada/.config/moulin/login.json";
const std::string kMyself =
    R"({"user":"ada","token":"t-0000000000007","label":"laptop","roles":[],"can_isolate_users":true})";

}  // namespace

TEST_CASE("login keeps the server and the token that standard input has, once they work") {
  FakeServer server;
  server.on(kWhoAmI, 200, kMyself);
  Run run;
  run.with_variable("MOULIN_TOKEN", "").with_file("-", "s3cret\nmore\n");
  REQUIRE_MESSAGE(run({"login", "--url", server.url()}) == 0, run.err);
  CHECK(run.out == "You are ada at " + server.url() + ". Kept in " + kFile + ".\n");
  CHECK(*find_header(server.requests(kWhoAmI).front().headers, "authorization") == "Bearer s3cret");
  CHECK(parse_json(run.file(kFile)).value().find("token")->string() == "s3cret");
  CHECK(run({"whoami", "--json"}) == 0);
  CHECK(run.json().find("server_from")->string() == kFile);
  CHECK(run.json().find("token_from")->string() == kFile);
  CHECK(run({"logout"}) == 0);
  CHECK(run.file(kFile).empty());
  CHECK(run({"logout"}) == 0);
  CHECK(run.out == "You were not logged in.\n");
}

TEST_CASE("login asks a person for the token, and says which settings come first") {
  FakeServer server;
  server.on(kWhoAmI, 200, kMyself);
  Run run;
  CHECK(run.with_server(server).with_person({"s3cret"})({"login"}) == 0);
  CHECK(run.err.starts_with("Token for " + server.url() + ": "));
  CHECK(run.err.find("MOULIN_URL is set and comes before the login") != std::string::npos);
  CHECK(run.err.find("s3cret") == std::string::npos);
  CHECK(run.out.find("s3cret") == std::string::npos);
}

TEST_CASE("a token that does not work, no token and no server keep nothing") {
  FakeServer server;
  server.refuse(kWhoAmI, {.code = Code::kUnauthenticated, .message = "no valid token"});
  Run run;
  run.with_file("-", "wrong");
  CHECK(run({"login", "--url", server.url()}) == 5);
  CHECK(run.err.find("moulin token create --user YOU") != std::string::npos);
  run.with_file("-", "\n");
  CHECK(run({"login", "--url", server.url()}) == 2);
  CHECK(run.err.starts_with("moulin: standard input: holds no token"));
  run.with_file("-", "s3cret");
  CHECK(run({"login", "--url", "http://127.0.0.1:1"}) == 6);
  CHECK(run.err.find("no server answers at http://127.0.0.1:1") != std::string::npos);
  CHECK(run({"login", "--url", "http://gpu.example.org"}) == 2);
  CHECK(run.err.starts_with("moulin: --url: "));
  CHECK(run.file(kFile).empty());
}

}  // namespace moulin::cli
