#include "server/authenticate.h"

#include <doctest/doctest.h>

#include "core/testing.h"
#include "server/secrets.h"

namespace moulin {
namespace {

struct Access : TestCluster {
  NewToken issue(uint64_t id, Instant expires = {}, WorkloadId workload = {}) {
    NewToken made = make_token({id}, UserName("admin"));
    made.token.issued = now;
    made.token.expires = expires;
    made.token.workload = workload;
    must(command::IssueToken{made.token});
    return made;
  }
  Result<Actor> ask(const std::string& header, Instant at) {
    Request request;
    if (!header.empty()) request.headers.push_back({"authorization", header});
    return authenticate(core.state(), request, at);
  }
  std::string refusal(const std::string& header) {
    Result<Actor> actor = ask(header, now);
    if (actor) return "accepted";
    CHECK(actor.error().code == Code::kUnauthenticated);
    CHECK_FALSE(actor.error().to_do.empty());
    return actor.error().message;
  }
};

}  // namespace

TEST_CASE("the holder of a token is its user") {
  Access access;
  NewToken made = access.issue(1);
  Result<Actor> actor = access.ask("Bearer " + made.text, access.now);
  REQUIRE(actor.has_value());
  CHECK(actor->user == UserName("admin"));
  CHECK(actor->workload == WorkloadId{});
}

TEST_CASE("missing, malformed, unknown and revoked tokens are refused") {
  Access access;
  NewToken made = access.issue(1);
  CHECK(access.refusal("") == "this request carries no token");
  CHECK(access.refusal("Basic YTpi") == "the Authorization header is not a bearer token");
  CHECK(access.refusal("Bearer") == "the Authorization header is not a bearer token");
  CHECK(access.refusal("Bearer nonsense") == "no valid token");
  CHECK(access.refusal("Bearer " + make_token({2}, UserName("admin")).text) == "no valid token");
  CHECK(access.refusal("Bearer " + make_token({1}, UserName("admin")).text) == "no valid token");
  access.must(command::RevokeToken{{1}});
  CHECK(access.refusal("Bearer " + made.text) == "no valid token");
}

TEST_CASE("an expired token is called so, from the very moment, to who holds its secret only") {
  Access access;
  Instant end = access.now + seconds(10);
  NewToken made = access.issue(1, end);
  CHECK(access.ask("Bearer " + made.text, end - microseconds(1)).has_value());
  CHECK(access.ask("Bearer " + made.text, end).error().message == "the token has expired");
  std::string forged = make_token({1}, UserName("admin")).text;
  CHECK(access.ask("Bearer " + forged, end).error().message == "no valid token");
}

TEST_CASE("the token of a workload acts for that workload only") {
  Access access;
  WorkloadId id = access.submit(TestCluster::make_spec("w"));
  Result<Actor> actor = access.ask("Bearer " + access.issue(1, {}, id).text, access.now);
  REQUIRE(actor.has_value());
  CHECK(actor->workload == id);
}

}  // namespace moulin
