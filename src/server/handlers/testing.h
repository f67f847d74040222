// For the tests of this folder: the whole server over HTTP, with a journal on disk, eight
// simulated devices, and an engine that does nothing by itself.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "api/api_client.h"
#include "engine/gpu/find_gpus.h"
#include "engine/local/attempt_store.h"
#include "journal/sqlite_journal.h"
#include "server/handlers/contract.h"
#include "server/server.h"
#include "server/testing.h"
#include "shim/files.h"
#include "shim/log_writer.h"
#include "shim/temporary_folder.h"

namespace moulin::testing {

class TestServer {
 public:
  TestServer() { start(); }

  // Another server on the same data folder, with an engine that holds nothing.
  void restart() {
    server.reset();
    start();
  }

  HttpClient client(std::string token) const {
    return HttpClient(parse_endpoint(server->url()).value(), {.token = std::move(token)});
  }
  HttpClient client() const { return client(admin_token()); }
  std::string admin_token() const {
    std::string text = text_of_file(server->token_file());
    text.pop_back();
    return text;
  }

  // The answer; its body must be as the contract says for `path`, whose parts in braces
  // may stand for anything.
  Json ask(std::string_view path, const HttpCall& call, std::string_view status = "200") {
    Response answer = client().send(call).value();
    INFO(call.path);
    INFO(answer.body);
    CHECK(std::to_string(answer.status) == status);
    Json body = parse_json(answer.body).value();
    std::string_view method = call.method == Method::kGet ? "get" : "post";
    CHECK(contract.complaint(path, method, status, body) == "");
    return body;
  }
  Json get(std::string_view path, const std::string& rest = "") {
    size_t brace = path.find('{');
    std::string named = brace == std::string_view::npos ? std::string(path) : std::string(path.substr(0, brace)) + rest;
    return ask(path, {.path = named});
  }
  // The problem that a call meets.
  Json problem(const HttpCall& call, int status) {
    Response answer = client().send(call).value();
    INFO(call.path);
    INFO(answer.body);
    CHECK(answer.status == status);
    Json body = parse_json(answer.body).value();
    CHECK(contract.complaint("Problem", body) == "");
    return body;
  }

  // The id of a new workload that needs `gpu`, as JSON.
  std::string submit(const std::string& gpu, const std::string& more = "") {
    Json made = ask("/api/v1/workloads", submission(gpu, more), "201");
    return made.find("ids")->items().front().string();
  }
  static HttpCall submission(const std::string& gpu, const std::string& more = "") {
    return {.method = Method::kPost,
            .path = "/api/v1/workloads",
            .body = R"({"workloads":[{"run":["true"],"folder":"/tmp","resources":{"gpu":)" + gpu + "}" + more + "}]}"};
  }

  Contract contract{text_of_file("api/openapi.yaml")};
  TemporaryFolder folder;
  FakeEngine* engine = nullptr;  // the server's
  std::unique_ptr<Server> server;

 private:
  void start() {
    auto made = Server::start({.data_folder = folder / "data", .version = "test", .boot_id = "boot"},
                              [this](const DataFolder& data, const Installation&, ServerLog&) { return parts(data); });
    MOULIN_CHECK(made.has_value(), made ? "" : made.error().to_text());
    server = std::move(*made);
  }
  Result<ServerParts> parts(const DataFolder& data) {
    auto fake = std::make_unique<FakeEngine>();
    engine = fake.get();
    ServerParts parts;
    parts.journal = TRY(SqliteJournal::open(data.journal(), {}));
    parts.gpus = TRY(find_gpus({.simulate = "8xH100-80GB"}));
    parts.engine = std::move(fake);
    return parts;
  }
};

}  // namespace moulin::testing
