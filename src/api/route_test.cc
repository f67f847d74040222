#include "api/route.h"

#include <doctest/doctest.h>

#include <set>

#include "api/operations.h"
#include "api/problem.h"

namespace moulin::wire {
namespace {

Request request_of(Method method, std::vector<std::string> segments, std::vector<QueryItem> query = {}) {
  return {.method = method, .segments = std::move(segments), .query = std::move(query)};
}

Error error_of(const Response& response) { return error_of_answer(response.status, response.body); }

}  // namespace

TEST_CASE("every operation is found by its own path and by no other") {
  for (const auto& route : routes()) {
    std::vector<std::string> segments;
    for (const std::string_view part : split(route.path.substr(1), '/')) {
      segments.emplace_back(part.starts_with('{') ? "some-value" : part);
    }
    const Request request = request_of(route.method, segments);
    const auto match = match_route(routes(), request);
    REQUIRE(match.has_value());
    CHECK(match->operation == route.operation);
  }
  CHECK(routes().size() == kWords<Operation>.size());
}

TEST_CASE("a word beats a value, and values come in order") {
  const auto dry_run = match_route(routes(), request_of(Method::kPost, {"api", "v1", "workloads", "dry_run"}));
  REQUIRE(dry_run.has_value());
  CHECK(dry_run->operation == Operation::kDryRunWorkloads);
  const auto role =
      match_route(routes(), request_of(Method::kDelete, {"api", "v1", "bindings", "ada", "nlp", "admin"}));
  REQUIRE(role.has_value());
  CHECK(role->values == PathValues{"ada", "nlp", "admin"});
}

TEST_CASE("a wrong path is 404 and a wrong method 405 with what would do") {
  const auto nowhere = match_route(routes(), request_of(Method::kGet, {"api", "v2", "nodes"}));
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().status == 404);
  CHECK(error_of(nowhere.error()).given == "/api/v2/nodes");
  const auto method = match_route(routes(), request_of(Method::kPut, {"api", "v1", "users"}));
  REQUIRE_FALSE(method.has_value());
  CHECK(method.error().status == 405);
  CHECK(*find_header(method.error().headers, "Allow") == "GET, HEAD, POST");
  const auto other = match_route(routes(), request_of(Method::kOther, {"api", "v1", "users"}));
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().status == 405);
  CHECK(*find_header(other.error().headers, "Allow") == "GET, HEAD, POST");
  CHECK_FALSE(match_route(routes(), request_of(Method::kGet, {})).has_value());
}

TEST_CASE("only the signs of life go without a token") {
  std::set<std::string_view> open;
  for (const auto& route : routes()) {
    if (!needs_token(route.operation)) open.insert(to_text(route.operation));
  }
  CHECK(open == std::set<std::string_view>{"check_health", "check_readiness"});
}

TEST_CASE("parameters survive the way to the server") {
  const WorkloadId id{12345};
  const ReadWorkloadLogs wanted{.workload = id,
                                .follow = true,
                                .since = WallTime{1'000'000},
                                .tail = 0,
                                .replica = 3,
                                .stream = LogStream::kStderr,
                                .format = LogFormat::kEvents,
                                .last_event_id = "a:1"};
  const HttpCall call = write_parameters(wanted);
  CHECK(call.method == Method::kGet);
  CHECK(call.path == "/api/v1/workloads/" + to_text(id) + "/logs");
  Request request = request_of(Method::kGet, {}, call.query);
  request.headers = {{"last-event-id", "a:1"}};
  const auto read = read_parameters<ReadWorkloadLogs>({to_text(id)}, request);
  REQUIRE(read.has_value());
  CHECK(read->workload == id);
  CHECK(read->follow);
  CHECK(read->since == wanted.since);
  CHECK(read->tail == 0);
  CHECK(read->replica == 3);
  CHECK_FALSE(read->attempt.has_value());
  CHECK(read->stream == LogStream::kStderr);
  CHECK(read->format == LogFormat::kEvents);
  CHECK(read->last_event_id == "a:1");
}

TEST_CASE("lists of parameters are repeated ones, and defaults hold") {
  const Request request = request_of(Method::kGet, {}, {{"state", "running"}, {"tag", "a=b"}, {"state", "waiting"}});
  const auto read = read_parameters<ListWorkloads>({}, request);
  REQUIRE(read.has_value());
  CHECK(read->state == std::vector<WorkloadState>{WorkloadState::kRunning, WorkloadState::kWaiting});
  CHECK(read->tag == std::vector<std::string>{"a=b"});
  CHECK(read->limit == 100);
}

TEST_CASE("bad parameters are named with what is allowed") {
  const auto error_for = [](std::vector<QueryItem> query) {
    const auto read = read_parameters<ListWorkloads>({}, request_of(Method::kGet, {}, std::move(query)));
    REQUIRE_FALSE(read.has_value());
    return read.error();
  };
  CHECK(error_for({{"stat", "running"}}).to_do == "did you mean `state`?");
  CHECK(error_for({{"state", "runing"}}).field == "state");
  CHECK(error_for({{"state", "runing"}}).to_do.find("running") != std::string::npos);
  CHECK(error_for({{"limit", "0"}}).field == "limit");
  CHECK(error_for({{"limit", "1001"}}).given == "1001");
  for (const char* limit : {"", "ten", "1e2", "1.0", "+5", "05", "99999999999999999999"}) {
    CAPTURE(limit);
    CHECK(error_for({{"limit", limit}}).field == "limit");
  }
  CHECK(error_for({{"limit", "1"}, {"limit", "2"}}).message.find("too often") != std::string::npos);
  const auto flag =
      read_parameters<ReadWorkloadLogs>({to_text(WorkloadId{1})}, request_of(Method::kGet, {}, {{"follow", "yes"}}));
  REQUIRE_FALSE(flag.has_value());
  CHECK(flag.error().field == "follow");
  const auto id = read_parameters<ShowWorkload>({"w-!"}, request_of(Method::kGet, {}));
  REQUIRE_FALSE(id.has_value());
  CHECK(id.error().field == "workload");
}

TEST_CASE("a body must be JSON and say so") {
  Request request{.method = Method::kPost,
                  .headers = {{"content-type", "application/json; charset=utf-8"}},
                  .body = R"({"name":"ada"})"};
  CHECK(read_body<NewUser>(request)->name == "ada");
  request.headers = {{"content-type", "text/plain"}};  // what a form of a foreign page could send
  CHECK(read_body<NewUser>(request).error().field == "Content-Type");
  request.headers.clear();
  CHECK(read_body<NewUser>(request).error().field == "Content-Type");
  request.headers = {{"content-type", "application/json"}};
  request.body = "{\"name\":\"ada\",\"name\":\"bob\"}";
  CHECK(read_body<NewUser>(request).error().code == Code::kInvalid);
  request.body.clear();
  CHECK(read_body<NewUser>(request).error().message == "the body is missing");
}

}  // namespace moulin::wire
