#include "server/handlers/handlers.h"

#include <doctest/doctest.h>

#include "server/handlers/testing.h"

namespace moulin::testing {
namespace {

std::vector<std::string> ids_of(const Json& page) {
  std::vector<std::string> ids;
  for (const Json& item : page.find("items")->items()) ids.push_back(item.find("id")->string());
  return ids;
}

std::string text(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_string() ? value->string() : "";
}

HttpCall post(std::string path, std::string body = "{}") {
  return {.method = Method::kPost, .path = std::move(path), .body = std::move(body)};
}

}  // namespace

TEST_CASE("every read answers as the contract says, on an empty installation and on a busy one") {
  TestServer test;
  for (int busy = 0; busy < 2; ++busy) {
    for (const char* path : {"/api/v1/workloads", "/api/v1/projects", "/api/v1/departments", "/api/v1/quota",
                             "/api/v1/queue", "/api/v1/users", "/api/v1/tokens", "/api/v1/bindings", "/api/v1/whoami",
                             "/api/v1/nodes", "/api/v1/gpus", "/api/v1/server", "/healthz", "/readyz"}) {
      test.get(path);
    }
    test.get("/api/v1/projects/{name}", "default");
    for (int i = 0; i < 3; ++i) test.submit("4");
  }
  Json page = test.get("/api/v1/workloads");
  CHECK(page.find("items")->items().size() == 6);
  for (const std::string& id : ids_of(page)) {
    CHECK(text(test.get("/api/v1/workloads/{workload}", id), "id") == id);
    test.ask("/api/v1/workloads/{workload}/why", {.path = "/api/v1/workloads/" + id + "/why"});
    test.ask("/api/v1/workloads/{workload}/events", {.path = "/api/v1/workloads/" + id + "/events"});
  }
}

TEST_CASE("a workload goes from submission to its end, and each step shows") {
  TestServer test;
  std::string id = test.submit("0.25", R"(,"name":"train","tags":{"team":"nlp"})");
  ReplicaLaunch launch = test.engine->await_starts(1)[0];
  CHECK(launch.environment.at("MOULIN_WORKLOAD_ID") == id);
  CHECK(launch.environment.at("MOULIN_SIMULATED") == "1");
  std::string path = "/api/v1/workloads/" + id;
  CHECK(text(test.get("/api/v1/workloads/{workload}", id), "state") == "starting");
  test.engine->report_started(launch);
  CHECK(text(test.ask("/api/v1/workloads/{workload}/stop", post(path + "/stop"), "202"), "state") == "stopping");
  CHECK(test.engine->await_ends(1)[0].reason == EndReason::kStop);
  test.engine->report_exited(launch, 0);
  REQUIRE(test.engine->await_releases(1).size() == 1);
  Json shown = test.get("/api/v1/workloads/{workload}", id);
  CHECK(text(shown, "state") == "stopped");
  CHECK(shown.find("attempts")->items().size() == 1);
}

TEST_CASE("pages are newest first, meet each workload once, and know the last one") {
  TestServer test;
  std::vector<std::string> made;
  for (int i = 0; i < 7; ++i) made.insert(made.begin(), test.submit("8", i % 2 == 0 ? R"(,"tags":{"even":"1"})" : ""));
  std::vector<std::string> met;
  std::string cursor;
  for (int page = 0; page < 4; ++page) {
    HttpCall call{.path = "/api/v1/workloads", .query = {{"limit", "2"}}};
    if (page > 0) call.query.push_back({"cursor", cursor});
    Json answer = test.ask("/api/v1/workloads", call);
    for (const std::string& id : ids_of(answer)) met.push_back(id);
    cursor = text(answer, "next");
    CHECK(cursor.empty() == (page == 3));
  }
  CHECK(met == made);
  Json even = test.ask("/api/v1/workloads", {.path = "/api/v1/workloads", .query = {{"tag", "even"}, {"limit", "4"}}});
  CHECK(ids_of(even).size() == 4);
  CHECK(text(even, "next").empty());
  test.problem({.path = "/api/v1/workloads", .query = {{"cursor", "made-up"}}}, 400);
}

TEST_CASE("what waits says why, and stands in the queue") {
  TestServer test;
  test.submit("8");
  std::string id = test.submit("1", R"(,"name":"late")");
  Json why = test.ask("/api/v1/workloads/{workload}/why", {.path = "/api/v1/workloads/" + id + "/why"});
  CHECK_FALSE(why.find("reasons")->items().empty());
  Json queue = test.get("/api/v1/queue");
  CHECK(ids_of(queue) == std::vector<std::string>{id});
  Json dry = test.ask("/api/v1/workloads/dry_run", [] {
    HttpCall call = TestServer::submission("9");
    call.path = "/api/v1/workloads/dry_run";
    return call;
  }());
  CHECK_FALSE(dry.find("workloads")->items().front().find("accepted")->boolean());
}

TEST_CASE("users, tokens and roles: a member sees and does what the role allows") {
  TestServer test;
  test.ask("/api/v1/users", post("/api/v1/users", R"({"name":"ann"})"), "201");
  Json issued = test.ask("/api/v1/tokens", post("/api/v1/tokens", R"({"user":"ann","label":"laptop"})"), "201");
  HttpClient ann = test.client(text(issued, "secret"));
  CHECK(ann.send(TestServer::submission("1")).value().status == 404);  // there is no such project for ann
  test.ask("/api/v1/bindings", post("/api/v1/bindings", R"({"user":"ann","at":"default","role":"member"})"), "201");
  CHECK(ann.send(TestServer::submission("1")).value().status == 201);
  std::string tokens = test.client().send({.path = "/api/v1/tokens"}).value().body;
  CHECK(tokens.contains("laptop"));
  CHECK_FALSE(tokens.contains(text(issued, "secret")));
}

TEST_CASE("without a valid token everything but the health checks is 401") {
  TestServer test;
  for (const std::string& token : {std::string(), std::string("nonsense"), test.admin_token() + "0"}) {
    HttpClient client = test.client(token);
    CHECK(client.send({.path = "/api/v1/workloads"}).value().status == 401);
    CHECK(client.send({.path = "/api/v1/events"}).value().status == 401);
    CHECK(client.send({.path = "/metrics"}).value().status == 401);
    CHECK(client.send(TestServer::submission("1")).value().status == 401);
    CHECK(client.send({.path = "/healthz"}).value().status == 200);
    CHECK(client.send({.path = "/readyz"}).value().status == 200);
  }
}

TEST_CASE("what is wrong with a request is named in a problem document") {
  TestServer test;
  CHECK(text(test.problem(TestServer::submission("1.5"), 400), "field") == "workloads[0].resources.gpu");
  CHECK(text(test.problem(TestServer::submission("1", R"(,"colour":"red")"), 400), "field").ends_with("colour"));
  CHECK(text(test.problem(TestServer::submission("9"), 422), "title") == "refused");
  CHECK(text(test.problem(TestServer::submission("1", R"(,"project":"nobody")"), 404), "given") == "nobody");
  CHECK(text(test.problem(post("/api/v1/workloads", "{"), 400), "title") == "invalid");
  test.problem({.path = "/api/v1/workloads/w-0000000000000"}, 404);
  test.problem({.path = "/api/v1/nothing"}, 404);
  test.problem({.path = "/api/v1/nodes", .query = {{"colour", "red"}}}, 400);
}

TEST_CASE("of several workloads the one at fault is named") {
  TestServer test;
  HttpCall call =
      post("/api/v1/workloads", R"({"workloads":[{"run":"true","name":"a"},{"run":"true","resources":{"gpu":9}}]})");
  CHECK(text(test.problem(call, 422), "field") == "workloads[1].resources.gpu");
  call.body = R"({"workloads":[{"run":"true"},{"run":"true"},{"run":"true","project":"nobody"}]})";
  CHECK(text(test.problem(call, 404), "field") == "workloads[2].project");
}

TEST_CASE("stopping what has ended changes nothing and is no error") {
  TestServer test;
  std::string id = test.submit("1");
  ReplicaLaunch launch = test.engine->await_starts(1)[0];
  test.engine->report_started(launch);
  test.engine->report_exited(launch, 0);
  test.engine->await_releases(1);
  HttpCall stop = post("/api/v1/workloads/" + id + "/stop");
  CHECK(text(test.ask("/api/v1/workloads/{workload}/stop", stop, "200"), "state") == "succeeded");
  HttpCall pause = post("/api/v1/workloads/" + id + "/pause");
  CHECK(text(test.problem(pause, 409), "detail").ends_with("has succeeded and cannot be paused"));
}

TEST_CASE("a submission that repeats few bytes many times is refused before it is made") {
  TestServer test;
  std::string files;
  for (int i = 0; i < 3; ++i)
    files += std::string(files.empty() ? "" : ",") + R"({"name":"a)" + std::to_string(i) +
             R"(","array":"0-999","run":["true",")" + std::string(30'000, 'x') + R"("]})";
  Json problem = test.problem(post("/api/v1/workloads", R"({"workloads":[)" + files + "]}"), 413);
  CHECK(text(problem, "field") == "workloads");
  CHECK(test.get("/api/v1/workloads").find("items")->items().empty());
  test.ask("/api/v1/workloads", post("/api/v1/workloads", R"({"workloads":[{"array":"0-999","run":"true"}]})"), "201");
}

TEST_CASE("a dry run judges all workloads together, each element of each array") {
  TestServer test;
  test.submit("1", R"(,"name":"b-7")");
  HttpCall call = post("/api/v1/workloads/dry_run",
                       R"({"workloads":[{"run":"true","name":"a"},{"run":"true","name":"a"},)"
                       R"({"run":"true","name":"b","array":"0-9"},{"run":"true","name":"c","array":"0-9"}]})");
  Json dry = test.ask("/api/v1/workloads/dry_run", call);
  std::vector<std::string> fields;
  for (const Json& verdict : dry.find("workloads")->items())
    fields.push_back(verdict.find("accepted")->boolean() ? "" : text(*verdict.find("problem"), "field"));
  CHECK(fields == std::vector<std::string>{"", "workloads[1].name", "workloads[2].name", ""});
}

TEST_CASE("lists are filtered by class, time of submission, project and word") {
  TestServer test;
  std::string batch = test.submit("1", R"(,"class":"batch")");
  std::string late = test.submit("1");
  auto listed = [&](std::string_view name, const std::string& value) {
    return ids_of(test.ask("/api/v1/workloads", {.path = "/api/v1/workloads", .query = {{std::string(name), value}}}));
  };
  CHECK(listed("class", "batch") == std::vector<std::string>{batch});
  CHECK(listed("since", text(test.get("/api/v1/workloads/{workload}", late), "submitted")) ==
        std::vector<std::string>{late});
  CHECK(listed("project", "nobody").empty());
  CHECK(listed("kind", "job").size() == 2);
}

TEST_CASE("what waits in a list has an expected start or says that none is told") {
  TestServer test;
  test.submit("8", R"(,"class":"batch")");
  ReplicaLaunch launch = test.engine->await_starts(1)[0];
  test.engine->report_started(launch);
  std::string stuck = test.submit("8", R"(,"class":"batch")");
  std::string next = test.submit("8", R"(,"class":"training")");
  test.engine->await_ends(1);  // the first makes way for the third
  Json page = test.ask("/api/v1/workloads", {.path = "/api/v1/workloads", .query = {{"state", "waiting"}}});
  REQUIRE(ids_of(page) == std::vector<std::string>{next, stuck});
  CHECK_FALSE(text(page.find("items")->items()[0], "expected_start").empty());
  CHECK(text(page.find("items")->items()[1], "expected_start").empty());
  CHECK_FALSE(text(page.find("items")->items()[1], "expected_start_reason").empty());
}

TEST_CASE("lists of people and places come in pages, each item once") {
  TestServer test;
  for (const char* name : {"ada", "ben", "cyd"}) {
    std::string quoted = R"({"name":")" + std::string(name) + R"(")";
    test.ask("/api/v1/users", post("/api/v1/users", quoted + "}"), "201");
    test.ask("/api/v1/departments", post("/api/v1/departments", quoted + "}"), "201");
    test.ask("/api/v1/projects",
             post("/api/v1/projects", R"({"name":"in-)" + std::string(name) + R"(","parent":")" + name + R"("})"),
             "201");
    test.ask("/api/v1/tokens", post("/api/v1/tokens", R"({"user":")" + std::string(name) + R"("})"), "201");
    test.ask("/api/v1/bindings",
             post("/api/v1/bindings", R"({"user":")" + std::string(name) + R"(","at":"default","role":"member"})"),
             "201");
  }
  for (const char* path :
       {"/api/v1/users", "/api/v1/departments", "/api/v1/projects", "/api/v1/tokens", "/api/v1/bindings"}) {
    std::string whole = write_json(*test.get(path).find("items"));
    JsonArray met;
    std::string cursor;
    do {
      HttpCall call{.path = path, .query = {{"limit", "1"}}};
      if (!cursor.empty()) call.query.push_back({"cursor", cursor});
      Json page = test.ask(path, call);
      REQUIRE(page.find("items")->items().size() == 1);
      met.push_back(page.find("items")->items().front());
      cursor = text(page, "next");
    } while (!cursor.empty() && met.size() < 10);
    CHECK(met.size() == 4);
    CHECK(write_json(met) == whole);
    test.problem({.path = path, .query = {{"cursor", "made-up"}}}, 400);
  }
  auto count = [&](const char* path, const char* name, const char* value) {
    return test.ask(path, {.path = path, .query = {{name, value}}}).find("items")->items().size();
  };
  CHECK(count("/api/v1/projects", "below", "ben") == 1);
  CHECK(count("/api/v1/tokens", "user", "ada") == 1);
  CHECK(count("/api/v1/bindings", "at", "default") == 3);
}

TEST_CASE("the history of a workload begins where it is asked to") {
  TestServer test;
  std::string id = test.submit("1");
  std::string path = "/api/v1/workloads/" + id + "/events";
  Json all = test.ask("/api/v1/workloads/{workload}/events", {.path = path});
  std::string first = all.find("items")->items().front().find("sequence")->number();
  Json rest = test.ask("/api/v1/workloads/{workload}/events", {.path = path, .query = {{"after", first}}});
  CHECK(rest.find("items")->items().size() == all.find("items")->items().size() - 1);
}

TEST_CASE("the same request under the same key is made once") {
  TestServer test;
  HttpCall call = TestServer::submission("1", R"(,"name":"once")");
  call.headers = {{"Idempotency-Key", "k-1"}};
  std::string first = test.client().send(call).value().body;
  CHECK(test.client().send(call).value().body == first);
  HttpCall other = TestServer::submission("2", R"(,"name":"twice")");
  other.headers = call.headers;
  CHECK(text(test.problem(other, 409), "title") == "conflict");
  CHECK(test.get("/api/v1/workloads").find("items")->items().size() == 1);
}

TEST_CASE("a restarted server knows everything, asks for what did not begin, and keeps its tokens") {
  TestServer test;
  std::string token = test.admin_token();
  std::string id = test.submit("1");
  test.engine->await_starts(1);
  test.restart();
  CHECK(test.admin_token() == token);
  CHECK(to_text(test.engine->await_starts(1)[0].key.workload) == id);
  CHECK(text(test.get("/api/v1/workloads/{workload}", id), "state") == "starting");
  CHECK(test.get("/api/v1/server").find("epoch")->number() == "2");
}

}  // namespace moulin::testing
