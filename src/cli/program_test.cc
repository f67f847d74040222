#include "cli/program.h"

#include <csignal>

#include "cli/testing.h"

namespace moulin::cli {

namespace {

using testing::FakeServer;
using testing::Run;

const std::string kId = "w-0c9k2v7m3x1qz";
const std::string kOther = "w-0c9k2v7m3x1r0";
const std::string kWorkloads = "GET /api/v1/workloads";
const std::string kSubmit = "POST /api/v1/workloads";
const std::string kShow = "GET /api/v1/workloads/" + kId;
const std::string kLogs = kShow + "/logs";
const std::string kStop = "POST /api/v1/workloads/" + kId + "/stop";

std::string summary(const std::string& id, const std::string& state, const std::string& project = "default") {
  return R"({"id":")" + id + R"(","name":"sweep","project":")" + project +
         R"(","owner":"ada","kind":"job","class":"training","priority":0,"state":")" + state +
         R"(","state_since":"2026-03-01T11:00:00Z","submitted":"2026-03-01T11:00:00Z","origin":{"kind":"user"},)"
         R"("gpu_milli":250,"replicas":{"min":1,"max":1,"running":1},"attempt":1,"nodes":["n1"],"reason":null,)"
         R"("expected_start":null,"held_gpu_seconds":0,"gpu_active_seconds":0,"tags":{}})";
}

std::string page(std::vector<std::string> items, const std::string& next = "null") {
  std::string text = R"({"items":[)";
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
  return text + R"(],"next":)" + next + "}";
}

std::string workload(const std::string& state, const std::string& replicas = "1") {
  return R"({"id":")" + kId +
         R"(","name":"sweep","project":"default","owner":"ada","kind":"job",)"
         R"("class":"training","priority":0,"state":")" +
         state +
         R"(","state_since":"2026-03-01T11:00:00Z","submitted":"2026-03-01T11:00:00Z","origin":{"kind":"user"},)"
         R"("simulated":false,"replicas":{"min":)" +
         replicas + R"(,"max":)" + replicas +
         R"(,"running":1},"placement":[],"attempts":[],"attempt_count":1,"preemptions":0,"retries":0,"reasons":[],)"
         R"("expected_start":null,"expected_start_reason":"","usage":{"held_gpu_seconds":0,"lost_gpu_seconds":0,)"
         R"("gpu_active_seconds":0,"running_seconds":0},"tags":{},)"
         R"("spec":{"kind":"job","name":"sweep","project":"default","run":["train"],"folder":"/x"}})";
}

std::string submitted(const std::vector<std::string>& ids) {
  std::string list;
  std::string workloads;
  for (const std::string& id : ids) {
    list += (list.empty() ? "\"" : ",\"") + id + "\"";
    workloads +=
        (workloads.empty() ? "" : ",") + std::string(R"({"id":")") + id + R"(","name":"sweep","project":"default"})";
  }
  return R"({"ids":[)" + list + R"(],"workloads":[)" + workloads + "]}";
}

struct Written {
  std::string stream = "stdout";
  int replica = 0;
  std::string more{};
};

StreamEvent line(const std::string& id, const std::string& text, const Written& written = {}) {
  return {.id = id,
          .type = "line",
          .data = R"({"time":"2026-03-01T11:00:00Z","attempt":1,"text":")" + text + R"(","stream":")" + written.stream +
                  R"(","replica":)" + std::to_string(written.replica) + written.more + "}"};
}

StreamEvent state(const std::string& type, const std::string& state, const std::string& more = "") {
  return {.id = "s",
          .type = type,
          .data = R"({"time":"2026-03-01T11:00:00Z","state":")" + state + R"(","attempt":1)" + more + "}"};
}

// A server on which submitting gives kId, running.
void accept_one(FakeServer& server) {
  server.on(kSubmit, 201, submitted({kId}));
  server.on(kShow, 200, workload("running"));
}

}  // namespace

TEST_CASE("run --detach prints the id, and submits what was asked with a key") {
  FakeServer server;
  accept_one(server);
  Run run;
  CHECK(run.with_server(server)({"run", "--detach", "--json", "--gpu", "0.25", "--", "train"}) == 0);
  CHECK(run.json().find("id")->string() == kId);
  Request request = server.requests(kSubmit).front();
  CHECK(request.body == R"({"workloads":[{"resources":{"gpu":"0.25"},"folder":"/data/ada","run":["train"]}]})");
  CHECK(*find_header(request.headers, "idempotency-key") == std::string(32, '7'));
  CHECK(*find_header(request.headers, "authorization") == "Bearer secret");
  CHECK(run({"run", "-d", "--", "train"}) == 0);
  CHECK(run.out == kId + "  sweep\n");
}

TEST_CASE("run --array prints all ids and follows none") {
  FakeServer server;
  server.on(kSubmit, 201, submitted({kId, kOther}));
  Run run;
  CHECK(run.with_server(server)({"run", "--json", "--array", "0-1", "--", "train"}) == 0);
  CHECK(run.out == R"({"ids":[")" + kId + R"(",")" + kOther + "\"]}\n");
}

TEST_CASE("run shows what the job writes, and exits as it does") {
  FakeServer server;
  accept_one(server);
  server.stream(kLogs, {state("state", "waiting", R"(,"text":"needs 0.5 GPU, 0.25 is free")"),
                        state("state", "running"), line("1", "epoch 1"), line("2", "oops", {.stream = "stderr"}),
                        line("3", "50%", {.more = R"(,"partial":true)"}), line("4", " done"),
                        state("end", "failed", R"(,"exit":{"code":3,"limit_hit":false,"vanished":false})")});
  Run run;
  CHECK(run.with_server(server)({"run", "--", "train"}) == 3);
  CHECK(run.out == "epoch 1\n50% done\n");
  CHECK(run.err == "moulin: " + kId +
                       " sweep\n"
                       "moulin: waiting: needs 0.5 GPU, 0.25 is free\n"
                       "moulin: running\n"
                       "oops\n"
                       "moulin: failed: exit code 3\n");
}

TEST_CASE("a stream that breaks off goes on behind its last event") {
  FakeServer server;
  accept_one(server);
  server.stream(kLogs, {line("7", "one")});
  server.refuse(kLogs, {.code = Code::kUnavailable, .message = "recovering"});
  server.stream(kLogs, {line("8", "two"), state("end", "succeeded")});
  Run run;
  CHECK(run.with_server(server)({"run", "--", "train"}) == 0);
  CHECK(run.out == "one\ntwo\n");
  std::vector<Request> requests = server.requests(kLogs);
  REQUIRE(requests.size() == 3);
  CHECK_FALSE(find_header(requests[0].headers, "last-event-id"));
  CHECK(*find_header(requests[2].headers, "last-event-id") == "7");
  CHECK(run.err.find("trying again") != std::string::npos);
}

TEST_CASE("a stream that ends after a finished state is complete") {
  FakeServer server;
  accept_one(server);
  server.stream(kLogs, {state("state", "stopped")});
  Run run;
  CHECK(run.with_server(server)({"run", "--", "train"}) == 1);
  CHECK(server.requests(kLogs).size() == 1);
}

TEST_CASE("Ctrl-C without a person detaches") {
  FakeServer server;
  accept_one(server);
  Run run;
  std::vector<EventStream> open;
  server.on(kLogs, [&](const Request&, Responder responder) {
    open.push_back(responder.start_stream(StreamForm::kEvents));
    open.back().send(line("1", "one"));
    run.interrupt(SIGINT);
  });
  CHECK(run.with_server(server)({"run", "--", "train"}) == 130);
  CHECK(server.requests(kStop).empty());
  CHECK(run.err.find("goes on; follow it with `moulin logs -f " + kId + "`") != std::string::npos);
}

TEST_CASE("Ctrl-C with a person asks whether to detach or to stop") {
  FakeServer server;
  accept_one(server);
  server.on(kStop, 202, summary(kId, "stopping"));
  Run run;
  std::vector<EventStream> open;
  server.on(kLogs, [&](const Request&, Responder responder) {
    open.push_back(responder.start_stream(StreamForm::kEvents));
    run.interrupt(SIGINT);
  });
  server.stream(kLogs, {line("1", "saved"), state("end", "stopped")});
  CHECK(run.with_server(server).with_person({"s"})({"run", "--", "train"}) == 1);
  CHECK(run.err.find("Detach (it goes on; Ctrl-C again) or stop it?") != std::string::npos);
  CHECK(server.requests(kStop).size() == 1);
  CHECK(run.out == "saved\n");
}

TEST_CASE("a second Ctrl-C detaches") {
  FakeServer server;
  accept_one(server);
  Run run;
  std::vector<EventStream> open;
  server.on(kLogs, [&](const Request&, Responder responder) {
    open.push_back(responder.start_stream(StreamForm::kEvents));
    run.interrupt(SIGINT);
  });
  CHECK(run.with_server(server).with_person({})({"run", "--", "train"}) == 0);  // nothing is typed
  CHECK(server.requests(kStop).empty());
  CHECK(run.err.find("goes on; follow it with") != std::string::npos);
}

TEST_CASE("a person sees why it waits, on a line that goes away") {
  FakeServer server;
  server.on(kSubmit, 201, submitted({kId}));
  std::string waits = workload("waiting");
  waits.replace(waits.find(R"("attempt_count":1)"), 17, R"("attempt_count":0)");
  waits.replace(waits.find(R"("reasons":[])"), 12, R"("reasons":[{"code":"no_capacity","text":"it needs more"}])");
  for (int look = 0; look < 7; ++look) server.on(kShow, 200, waits);
  server.on(kShow, 200, workload("running"));
  server.stream(kLogs, {line("1", "one"), state("end", "succeeded")});
  Run run;
  run.with_server(server).with_person({}).with_terminal({.width = 60});
  CHECK(run({"run", "--", "train"}) == 0);
  CHECK(run.err.find("\r\x1b[Kmoulin: waiting for 1h: it needs more\r\x1b[K") != std::string::npos);
  CHECK(run.out == "one\n");
}

TEST_CASE("replicas are named in front of their lines") {
  FakeServer server;
  server.on(kShow, 200, workload("running", "4"));
  server.stream(kLogs, {line("1", "a"), line("2", "b", {.replica = 3}), state("end", "running")});
  Run run;
  CHECK(run.with_server(server)({"logs", kId}) == 0);
  CHECK(run.out == "[0] a\n[3] b\n");
  CHECK(run({"logs", kId, "--replica", "3", "--tail", "10", "--since", "10m"}) == 0);
  std::vector<QueryItem> query = server.requests(kLogs).back().query;
  CHECK(std::count(query.begin(), query.end(), QueryItem{"tail", "10"}) == 1);
  CHECK(std::count(query.begin(), query.end(), QueryItem{"since", "2026-03-01T11:50:00.000000Z"}) == 1);
}

TEST_CASE("a workload that finished long ago is shown no more, and its logs are") {
  FakeServer server;
  server.refuse(kShow, {.code = Code::kNotFound, .message = "no such workload"});
  server.stream(kLogs, {line("1", "a"), state("end", "succeeded")});
  Run run;
  CHECK(run.with_server(server)({"logs", kId}) == 0);
  CHECK(run.out == "[0] a\n");
}

TEST_CASE("a workload is named by name: the unfinished one, else the newest") {
  FakeServer server;
  server.on(kWorkloads, 200, page({summary(kOther, "failed"), summary(kId, "running")}));
  server.on(kStop, 202, summary(kId, "stopping"));
  Run run;
  CHECK(run.with_server(server)({"stop", "sweep"}) == 0);
  CHECK(run.out == kId + " sweep is stopping\n");
  CHECK(server.requests(kWorkloads).front().query == std::vector<QueryItem>{{"name", "sweep"}, {"limit", "1000"}});
}

TEST_CASE("stop of what has ended by itself says how it ended") {
  FakeServer server;
  server.on(kWorkloads, 200, page({summary(kId, "succeeded")}));
  server.on(kStop, 200, summary(kId, "succeeded"));
  Run run;
  CHECK(run.with_server(server)({"stop", "sweep"}) == 0);
  CHECK(run.out == kId + " sweep has already succeeded\n");
}

TEST_CASE("a name in two projects needs the project") {
  FakeServer server;
  server.on(kWorkloads, 200, page({summary(kOther, "running", "nlp"), summary(kId, "running")}));
  Run run;
  CHECK(run.with_server(server)({"stop", "sweep"}) == 7);
  CHECK(run.err.find("means several workloads: " + kOther + " (nlp/sweep), " + kId + " (default/sweep)") !=
        std::string::npos);
  run({"stop", "sweep", "--project", "nlp"});
  CHECK(server.requests(kWorkloads).back().query.front() == QueryItem{"project", "nlp"});
}

TEST_CASE("the beginning of an id is enough when it is the only one") {
  FakeServer server;
  server.on(kWorkloads, 200, page({}));                                        // no such name
  server.on(kWorkloads, 200, page({summary(kOther, "running")}, "\"next\""));  // first page
  server.on(kWorkloads, 200, page({summary(kId, "running")}));
  server.on(kStop, 202, summary(kId, "stopping"));
  Run run;
  CHECK(run.with_server(server)({"stop", "w-0c9k2v7m3x1q"}) == 0);
}

TEST_CASE("what names no workload, or several, is refused") {
  FakeServer server;
  server.on(kWorkloads, 200, page({}));
  server.on(kWorkloads, 200, page({summary(kOther, "running"), summary(kId, "running")}));
  Run run;
  CHECK(run.with_server(server)({"stop", "w-0c9k"}) == 7);
  CHECK(run.err.find("write more of the id") != std::string::npos);
  FakeServer empty;
  empty.on(kWorkloads, 200, page({}));
  CHECK(run.with_server(empty)({"stop", "w-0c9k"}) == 4);
  CHECK(run({"stop", "none"}) == 4);
  CHECK(run({"stop", "No/Name"}) == 4);
  CHECK(run.err.find("see `moulin ps -a`") != std::string::npos);
}

TEST_CASE("an error of the server names the option at fault, and its status is the program's") {
  FakeServer server;
  server.refuse(kSubmit, {.code = Code::kInvalid,
                          .message = "is neither a part of one device nor a whole number of devices",
                          .field = "workloads[0].resources.gpu",
                          .given = "1.5",
                          .allowed = "...",
                          .to_do = "write 2"});
  server.refuse(kSubmit, {.code = Code::kRefused, .message = "can never run"});
  server.refuse(kSubmit, {.code = Code::kUnauthenticated, .message = "no valid token"});
  server.refuse(kSubmit, {.code = Code::kConflict, .message = "the name is taken"});
  Run run;
  run.with_server(server);
  CHECK(run({"run", "-d", "--gpu", "1.5", "--", "train"}) == 2);
  CHECK(run.err.starts_with("moulin: --gpu: is neither"));
  CHECK(run({"run", "-d", "--", "train"}) == 3);
  CHECK(run({"run", "-d", "--", "train"}) == 5);
  CHECK(run.err.find("given:   the token from MOULIN_TOKEN") != std::string::npos);
  CHECK(run({"run", "-d", "--json", "--", "train"}) == 7);
  CHECK(parse_json(run.err).value().find("title")->string() == "conflict");
}

// As a person meets them: what is wrong, what was given, what is allowed, what to do.
TEST_CASE("errors of the server read as they should") {
  const std::vector<Error> errors{
      {.code = Code::kInvalid,
       .message = "is neither a part of one device nor a whole number of devices",
       .field = "workloads[0].resources.gpu",
       .given = "1.5",
       .allowed = "0.001 to 1, or a whole number",
       .to_do = "write 2"},
      {.code = Code::kRefused, .message = "no node has 9 devices", .field = "workloads[0].resources.gpu", .given = "9"},
      {.code = Code::kNotFound, .message = "no such project", .field = "workloads[0].project", .given = "nlq"},
      {.code = Code::kUnauthenticated, .message = "no valid token"},
      {.code = Code::kForbidden, .message = "you may not submit to nlp", .to_do = "ask an administrator of nlp"},
      {.code = Code::kConflict, .message = "the name is taken", .field = "workloads[0].name", .given = "sweep"},
      {.code = Code::kTooMany, .message = "too many commands wait", .to_do = "try again in a second"},
      {.code = Code::kUnavailable, .message = "the journal cannot be written", .to_do = "make room on its disk"},
      {.code = Code::kInternal, .message = "a defect"}};
  FakeServer server;
  for (const Error& error : errors) server.refuse(kSubmit, error);
  Run run;
  run.with_server(server);
  std::string text;
  for (const Error& error : errors) {
    int status = run({"run", "-d", "--gpu", "1", "--", "train"});
    CHECK(status == exit_status(error.code));
    text += "status " + std::to_string(status) + "\n" + run.err + "\n";
  }
  testing::check_snapshot("errors_of_the_server", text);
}

TEST_CASE("without a server it says how to start one") {
  Run run;
  run.with_variable("MOULIN_DATA", "/nowhere");
  CHECK(run({"ps"}) == 6);
  CHECK(run.err.find("start a server with `moulin up`") != std::string::npos);
}

TEST_CASE("a dry run says what would happen, and submits nothing") {
  FakeServer server;
  server.on("POST /api/v1/workloads/dry_run", 200,
            R"({"workloads":[{"name":"a","project":"default","count":1,"accepted":false,"starts_now":false,)"
            R"("problem":{"type":"t","title":"refused","status":422,"detail":"no device has so much memory",)"
            R"("field":"workloads[0].resources.gpu"},"explanation":null,"spec":{}}]})");
  Run run;
  CHECK(run.with_server(server)({"run", "--dry-run", "--gpu", "200GiB", "--", "train"}) == 3);
  CHECK(run.out == "a would be refused\n  --gpu: no device has so much memory\n");
  CHECK(server.requests(kSubmit).empty());
}

TEST_CASE("run --like --replace stops the old one and submits it changed") {
  FakeServer server;
  accept_one(server);
  server.on("POST /api/v1/workloads/dry_run", 200,
            R"({"workloads":[{"name":"sweep","project":"default","count":1,"accepted":true,"starts_now":true,)"
            R"("problem":null,"explanation":null,"spec":{}}]})");
  server.on(kStop, 202, summary(kId, "stopped"));
  server.stream(kLogs, {state("end", "stopped")});
  Run run;
  CHECK(run.with_server(server)({"run", "--like", kId, "--replace", "--gpu", "0.25", "-d"}) == 0);
  CHECK(server.requests(kStop).size() == 1);
  Json sent = *parse_json(server.requests(kSubmit).front().body).value().find("workloads");
  CHECK(sent.items()[0].find("name")->string() == "sweep");
  CHECK(sent.items()[0].find("run")->items()[0].string() == "train");
  CHECK(sent.items()[0].find("folder")->string() == "/x");
  CHECK(write_json(*sent.items()[0].find("resources")) == R"({"gpu":"0.25"})");
  CHECK(run({"run", "--replace", "-d", "--", "x"}) == 2);
}

TEST_CASE("apply submits the documents of a file") {
  FakeServer server;
  accept_one(server);
  Run run;
  run.with_server(server).with_file("jobs/a.yaml", "{run: x}\n---\n{run: y, project: nlp}\n");
  CHECK(run({"apply", "-f", "jobs/a.yaml", "--project", "vision"}) == 0);
  CHECK(server.requests(kSubmit).front().body ==
        R"({"workloads":[{"run":"x","folder":"/data/ada/jobs","project":"vision"},)"
        R"({"run":"y","project":"nlp","folder":"/data/ada/jobs"}]})");
  CHECK(run({"apply", "-f", "none.yaml"}) == 4);
  CHECK(run({"apply"}) == 2);
}

TEST_CASE("lists are put together from their pages, up to the limit") {
  FakeServer server;
  server.on(kWorkloads, 200, page({summary(kId, "running")}, "\"more\""));
  server.on(kWorkloads, 200, page({summary(kOther, "running")}, "\"even more\""));
  Run run;
  CHECK(run.with_server(server)({"ps", "--json", "--limit", "2"}) == 0);
  CHECK(run.json().find("items")->items().size() == 2);
  CHECK(server.requests(kWorkloads).size() == 2);
  CHECK(run({"ps", "--limit", "0"}) == 2);
  CHECK(run({"ps", "--state", "runing"}) == 2);
  CHECK(run.err.find("did you mean \"running\"?") != std::string::npos);
}

TEST_CASE("quota amounts are those of the resource") {
  FakeServer server;
  const std::string kQuota = "PATCH /api/v1/projects/nlp/quota";
  server.on(kQuota, 200,
            R"({"name":"nlp","kind":"project","parent":"organisation","created":"2026-03-01T11:00:00Z","quotas":[]})");
  Run run;
  run.with_server(server);
  CHECK(run({"project", "quota", "nlp", "--guaranteed", "2.5", "--limit", "none"}) == 0);
  CHECK(server.requests(kQuota).back().body.find(R"("guaranteed":2500)") != std::string::npos);
  CHECK(server.requests(kQuota).back().body.find(R"("no_limit":true)") != std::string::npos);
  CHECK(run({"project", "quota", "nlp", "--resource", "memory", "--limit", "16GiB"}) == 0);
  CHECK(server.requests(kQuota).back().body.find(R"("limit":17179869184)") != std::string::npos);
  CHECK(run({"project", "quota", "nlp", "--limit", "much"}) == 2);
  CHECK(run.err.starts_with("moulin: --limit: "));
}

TEST_CASE("a token is shown with its secret") {
  FakeServer server;
  server.on("POST /api/v1/tokens", 201,
            R"({"id":"t-0c9k2v7m3x1qz","user":"ada","label":"ci","issued":"2026-03-01T11:00:00Z","expires":null,)"
            R"("secret":"s3cret"})");
  Run run;
  CHECK(run.with_server(server)({"token", "create", "--label", "ci", "--expires", "30d"}) == 0);
  CHECK(run.out.find("s3cret") != std::string::npos);
  CHECK(run({"token", "create", "--json"}) == 0);
  CHECK(run.json().find("secret")->string() == "s3cret");
  CHECK(run({"token", "revoke", "nonsense"}) == 2);
}

TEST_CASE("events end after as many as were asked for, and begin behind a number") {
  FakeServer server;
  auto event = [](int number) {
    std::string text = std::to_string(number);
    return R"({"sequence":)" + text + R"(,"time":"2026-03-01T11:00:00Z","type":"a","text":"event )" + text +
           R"(","data":{}})";
  };
  server.on("GET /readyz", 200, R"({"status":"ok"})");
  server.stream("GET /api/v1/events", {{.id = "1", .type = "a", .data = event(1)},
                                       {.id = "2", .type = "a", .data = event(2)},
                                       {.id = "3", .type = "a", .data = event(3)}});
  server.on(kShow + "/events", 200, R"({"items":[)" + event(2) + R"(],"next":null})");
  Run run;
  CHECK(run.with_server(server)({"events", "-f", "--limit", "2"}) == 0);
  CHECK(run.out == "11:00:00  event 1\n11:00:00  event 2\n");
  CHECK(run({"events", kId, "--after", "1", "--limit", "1"}) == 0);
  CHECK(run.out == "11:00:00  event 2\n");
  CHECK(server.requests(kShow + "/events").front().query == std::vector<QueryItem>{{"after", "1"}, {"limit", "1"}});
}

TEST_CASE("events of everything are followed only when asked") {
  Run run;
  CHECK(run({"events"}) == 2);
  CHECK(run.err.find("add -f") != std::string::npos);
}

}  // namespace moulin::cli
