// Events and logs as streams: in order, without gaps, and on from where one was.
#include <doctest/doctest.h>

#include "server/handlers/testing.h"
#include "server/recovery.h"

namespace moulin::testing {
namespace {

// The events of a stream until `enough` says so.
std::vector<StreamEvent> read(TestServer& test, const HttpCall& call,
                              const std::function<bool(const std::vector<StreamEvent>&)>& enough) {
  std::vector<StreamEvent> events;
  ApiClient api(test.client());
  Result<StreamEnd> end = api.stream(call, [&](const StreamEvent& event) {
    events.push_back(event);
    return enough(events) ? Flow::kStop : Flow::kContinue;
  });
  MOULIN_CHECK(end.has_value(), end ? "" : end.error().to_text());
  return events;
}

std::vector<StreamEvent> read_events(TestServer& test, int64_t after, size_t count) {
  return read(test, {.path = "/api/v1/events", .headers = {{"Last-Event-ID", std::to_string(after)}}},
              [count](const auto& events) { return events.size() == count; });
}

// How many events are durable.
int64_t last_sequence(TestServer& test) {
  return test.get("/api/v1/server").find("journal")->find("last_sequence")->integer().value();
}

// Every event once, in order, on from the one after `after`, and as the contract says.
void check_unbroken(TestServer& test, const std::vector<StreamEvent>& events, int64_t after) {
  for (const StreamEvent& event : events) {
    REQUIRE(event.id == std::to_string(++after));
    Json data = parse_json(event.data).value();
    REQUIRE(test.contract.complaint("Event", data) == "");
    REQUIRE(data.find("sequence")->integer().value() == after);
    REQUIRE(data.find("type")->string() == event.type);
  }
}

// The logs of the first replica of a workload, written as its shim would.
class Logs {
 public:
  Logs(TestServer& test, const ReplicaKey& key) : path_(test.folder / "data/attempts/" + attempt_path(key)) {
    std::filesystem::create_directories(path_);
    folder_ = open_folder(path_).value();
    out_ = std::make_unique<LogWriter>(folder_, LogWriter::Rules{.stream = LogStream::kOut});
  }
  void add(const std::string& text) { out_->add(text, ++time_); }

 private:
  std::string path_;
  Fd folder_;
  std::unique_ptr<LogWriter> out_;
  int64_t time_ = 1'700'000'000'000'000;
};

// What the core does an hour after a workload has finished.
void forget(TestServer& test, const std::string& id) {
  test.server.reset();
  {
    auto journal = SqliteJournal::open(test.folder / "data/journal.db", {}).value();
    WorkloadId workload{parse_id(WorkloadTag::kPrefix, id).value()};
    Event event{
        .at = recover_core(*journal).value().state().now, .actor = {}, .body = event::WorkloadForgotten{workload}};
    JournalRecord record{
        .time = event.at, .type = event_type(event.body), .workload = workload, .bytes = encode_event(event)};
    REQUIRE(journal->append({record}).has_value());
  }
  test.restart();
}

std::string lines_of(const std::vector<StreamEvent>& events) {
  std::string lines;
  for (const StreamEvent& event : events) {
    if (event.type == "line") lines += parse_json(event.data)->find("text")->string() + ";";
  }
  return lines;
}

}  // namespace

TEST_CASE("the stream of events goes on after the one that was seen last") {
  TestServer test;
  test.submit("1");
  int64_t last = last_sequence(test);
  std::vector<StreamEvent> all = read_events(test, 0, static_cast<size_t>(last));
  check_unbroken(test, all, 0);
  CHECK(all.front().type == "epoch_began");
  check_unbroken(test, read_events(test, last - 3, 3), last - 3);
  Response refused = test.client().send({.path = "/api/v1/events", .headers = {{"Last-Event-ID", "x"}}}).value();
  CHECK(refused.status == 400);
}

TEST_CASE("what is older than the memory comes from history, and joins what is newer") {
  TestServer test;
  test.submit("8", R"(,"array":"0-2499")");
  test.restart();  // the hub is empty: a gap
  test.submit("1");
  auto count = static_cast<size_t>(last_sequence(test));
  CHECK(count > 2'500);
  check_unbroken(test, read_events(test, 0, count), 0);
}

TEST_CASE("a stream of one workload has only its events") {
  TestServer test;
  test.submit("1");
  std::string id = test.submit("1");
  std::vector<StreamEvent> events = read(test, {.path = "/api/v1/events", .query = {{"workload", id}, {"after", "0"}}},
                                         [](const auto& seen) { return seen.size() == 2; });
  CHECK(events[0].type == "workload_submitted");
  CHECK(events[1].type == "attempt_started");
  CHECK(parse_json(events[1].data)->find("workload")->string() == id);
}

TEST_CASE("a stream of events ends after as many as were asked for, from history and from memory") {
  TestServer test;
  test.submit("1");
  HttpCall call{.path = "/api/v1/events", .query = {{"after", "0"}, {"limit", "3"}}};
  CHECK(read(test, call, [](const auto&) { return false; }).size() == 3);
  test.restart();
  check_unbroken(test, read(test, call, [](const auto&) { return false; }), 0);
}

TEST_CASE("logs are followed while a workload runs, to its very end") {
  TestServer test;
  std::string id = test.submit("1");
  ReplicaLaunch launch = test.engine->await_starts(1)[0];
  test.engine->report_started(launch);
  Logs logs(test, launch.key);
  logs.add("first\n");
  HttpCall call{.path = "/api/v1/workloads/" + id + "/logs", .query = {{"follow", "true"}, {"format", "events"}}};
  std::vector<StreamEvent> events = read(test, call, [&](const auto& seen) {
    if (seen.back().type != "line") return false;
    std::string lines = lines_of(seen);
    if (lines == "first;") logs.add("second\n");
    if (lines == "first;second;") {
      logs.add("last\n");
      test.engine->report_exited(launch, 0);
    }
    return false;
  });
  CHECK(lines_of(events) == "first;second;last;");
  CHECK(events.back().type == "end");
  for (const StreamEvent& event : events) {
    CHECK(test.contract.complaint(event.type == "line" ? "LogLine" : "LogState", parse_json(event.data).value()) == "");
  }

  auto second = std::ranges::find_if(events, [](const auto& event) { return event.data.contains("second"); });
  call.headers = {{"Last-Event-ID", second->id}};
  CHECK(lines_of(read(test, call, [](const auto&) { return false; })) == "last;");
}

TEST_CASE("the tail of a log as bare lines, and a workload that never wrote") {
  TestServer test;
  std::string id = test.submit("1");
  ReplicaLaunch launch = test.engine->await_starts(1)[0];
  CHECK(test.client().send({.path = "/api/v1/workloads/" + id + "/logs"}).value().body.empty());
  Logs logs(test, launch.key);
  for (int i = 1; i <= 50; ++i) logs.add("line " + std::to_string(i) + "\n");
  HttpCall call{.path = "/api/v1/workloads/" + id + "/logs", .query = {{"tail", "2"}}};
  CHECK(test.client().send(call).value().body == "line 49\nline 50\n");
  CHECK(test.client().send({.path = "/api/v1/workloads/" + id + "/logs", .query = {{"attempt", "2"}}}).value().status ==
        404);
  CHECK(test.client().send({.path = "/api/v1/workloads/w-0000000000000/logs"}).value().status == 404);
}

TEST_CASE("the logs of a workload that left the memory long ago, and of one whose logs were removed") {
  TestServer test;
  std::string id = test.submit("1");
  ReplicaLaunch launch = test.engine->await_starts(1)[0];
  test.engine->report_started(launch);
  Logs(test, launch.key).add("kept\n");
  test.engine->report_exited(launch, 3);
  HttpCall call{.path = "/api/v1/workloads/" + id + "/logs", .query = {{"follow", "true"}, {"format", "events"}}};
  CHECK(lines_of(read(test, call, [](const auto&) { return false; })) == "kept;");
  forget(test, id);
  CHECK(test.client().send({.path = "/api/v1/workloads/" + id}).value().status == 404);

  std::vector<StreamEvent> events = read(test, call, [](const auto&) { return false; });
  CHECK(lines_of(events) == "kept;");
  CHECK(events.back().type == "end");
  Json end = parse_json(events.back().data).value();
  CHECK(test.contract.complaint("LogState", end) == "");
  CHECK(end.find("state")->string() == "failed");
  CHECK(end.find("outcome")->string() == "failed");
  call.query = {};
  CHECK(test.client().send(call).value().body == "kept\n");
  call.query = {{"attempt", "2"}};
  CHECK(test.problem(call, 404).find("title") != nullptr);

  // The engine tidies up the same folder at the same time, so a round may miss what it takes away.
  std::filesystem::path kept = test.folder / "data/attempts/" + to_text(launch.key.workload);
  std::error_code error;
  for (int round = 0; round < 100 && std::filesystem::exists(kept, error); ++round)
    std::filesystem::remove_all(kept, error);
  call.query = {};
  std::string refused = test.client().send(call).value().body;
  CHECK(refused.contains("were removed"));
  CHECK(refused.contains("30d"));
  CHECK(refused.contains("50GiB"));
}

}  // namespace moulin::testing
