// How long reads take beside each other when a hundred thousand workloads are stored.
//
//   bench_api_reads [FOLDER]
//
// Work: 100,000 workloads wait on eight devices that are taken, in four projects. For ten
// seconds 500 reads a second come by the clock over 32 connections: lists with and without
// filters, single workloads, why, their events, the queue, quotas, free GPUs, nodes. A
// read's time counts from the moment at which it was due. FOLDER: as for bench_submit.
//
// measures: api_p99_ms
// runs: 3
#include <fmt/format.h>

#include "http_load.h"
#include "served.h"

namespace {

using namespace moulin;
using namespace moulin::bench;

constexpr int kArrays = 10;  // of 10,000
constexpr size_t kClients = 32;
constexpr double kRate = 500;
constexpr double kSeconds = 10;

Json send(HttpClient& client, std::string path, std::string body) {
  Method method = body.empty() ? Method::kGet : Method::kPost;
  auto answer = client.send({.method = method, .path = std::move(path), .body = std::move(body)});
  MOULIN_CHECK(answer.has_value() && answer->status < 300, answer ? answer->body : answer.error().to_text());
  return parse_json(answer->body).value();
}

// Some of the ids of all arrays.
std::vector<std::string> fill(HttpClient& client) {
  send(client, "/api/v1/workloads", R"({"workloads":[{"run":["sleep","1000"],"resources":{"gpu":8}}]})");
  for (int i = 0; i < 4; ++i) send(client, "/api/v1/projects", fmt::format(R"({{"name":"team-{}"}})", i));
  std::vector<std::string> ids;
  for (int i = 0; i < kArrays; ++i) {
    Json made = send(client, "/api/v1/workloads",
                     fmt::format(R"({{"workloads":[{{"run":["true"],"folder":"/tmp","name":"sweep-{}","project":)"
                                 R"("team-{}","array":"0-9999","tags":{{"round":"{}"}},"resources":{{"gpu":1}}}}]}})",
                                 i, i % 4, i));
    const JsonArray& all = made.find("ids")->items();
    for (size_t at = 0; at < all.size(); at += 100) ids.push_back(all[at].string());
  }
  return ids;
}

std::string target(int64_t number, const std::vector<std::string>& ids) {
  const std::string& id = ids[static_cast<size_t>(number * 7919) % ids.size()];
  switch (number % 10) {
    case 0: return "/api/v1/workloads?limit=100";
    case 1: return "/api/v1/workloads/" + id;
    case 2: return "/api/v1/workloads/" + id + "/why";
    case 3: return "/api/v1/workloads/" + id + "/events";
    case 4: return "/api/v1/queue?limit=100";
    case 5: return "/api/v1/quota";
    case 6: return "/api/v1/gpus?project=team-1";
    case 7: return "/api/v1/nodes";
    case 8: return "/api/v1/workloads?state=waiting&project=team-2&tag=round=6&limit=50";
    default: return "/api/v1/workloads/" + id;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Scratch scratch(argc > 1 ? argv[1] : ".");
  Served server(scratch.path() + "/data");
  HttpClient client = server.client();
  std::vector<std::string> ids = fill(client);
  HttpLoad load(server.port(), kClients);
  auto make = [&](int64_t number) { return http_request("GET", target(number, ids), server.token); };
  load.run_open(1, kRate, make);
  LoadOutcome outcome = load.run_open(kSeconds, kRate, make);
  MOULIN_CHECK(outcome.by_status.size() == 1 && outcome.count(200) > 0, "every read is answered");
  fmt::print(
      R"({{"name":"api_p99_ms","value":{:.2f},"unit":"ms","better":"lower","goal":20,)"
      R"("others":{{"p50_ms":{:.2f},"p90_ms":{:.2f},"highest_ms":{:.2f},"answered_per_s":{:.0f},"rss_mb":{:.0f}}}}})"
      "\n",
      outcome.percentile_ms(99), outcome.percentile_ms(50), outcome.percentile_ms(90), outcome.percentile_ms(100),
      static_cast<double>(outcome.count(200)) / outcome.seconds, server.memory_mb());
}
