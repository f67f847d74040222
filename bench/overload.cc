// What a server does when far more comes than it can do, and how soon it is itself again.
//
//   bench_overload [FOLDER]
//
// Work: first the sustainable rate of submissions, by 64 clients. Then for thirty seconds
// ten times as many come by the clock, over 1,000 connections, as fast as the load itself
// gets processor time beside the server. Then one client asks now and then until ten
// submissions in a row are answered in twice the time that they took before the storm: the
// figure is when that began. The storm is in one project, which comes to its limit of
// unfinished workloads, and that client is in another. All answers must be 201, or 429 or 503 with what to do;
// memory must stay below 1 GiB. FOLDER: as for bench_submit.
//
// measures: overload
// runs: 1
#include <fmt/format.h>

#include <thread>

#include "http_load.h"
#include "served.h"

namespace {

using namespace moulin;
using namespace moulin::bench;

constexpr size_t kCalmClients = 64;
constexpr size_t kStormClients = 1000;
constexpr double kCalmSeconds = 3;
constexpr double kStormSeconds = 30;
constexpr double kMemoryMostMb = 1024;
constexpr int kInARow = 10;

constexpr std::string_view kStormBody = R"({"workloads":[{"run":["true"],"folder":"/tmp","resources":{"gpu":1}}]})";
constexpr std::string_view kCalmBody =
    R"({"workloads":[{"run":["true"],"folder":"/tmp","project":"calm","resources":{"gpu":1}}]})";

// How long one submission takes by itself; nothing when it was not accepted.
std::optional<double> one_ms(HttpLoad& load, const std::string& request) {
  bool sent = false;
  LoadOutcome outcome = load.run_open(0.001, 1000, [&](int64_t) {
    sent = true;
    return request;
  });
  if (!sent || outcome.count(201) != 1) return std::nullopt;
  return outcome.percentile_ms(50);
}

double calm_ms(HttpLoad& load, const std::string& request) {
  double slowest = 0;
  for (int i = 0; i < kInARow; ++i) slowest = std::max(slowest, one_ms(load, request).value_or(0));
  return slowest;
}

// Seconds until the first of so many good ones in a row.
double seconds_to_normal(HttpLoad& load, const std::string& request, double good_ms) {
  double begin = seconds_now();
  double first_good = 0;
  for (int in_a_row = 0; in_a_row < kInARow && seconds_now() < begin + 60;) {
    double asked = seconds_now();
    auto took = one_ms(load, request);
    bool good = took && *took <= good_ms;
    if (good && in_a_row == 0) first_good = asked - begin;
    in_a_row = good ? in_a_row + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return first_good;
}

}  // namespace

int main(int argc, char** argv) {
  Scratch scratch(argc > 1 ? argv[1] : ".");
  Served server(scratch.path() + "/data");
  auto whole = server.client().send({.method = Method::kPost,
                                     .path = "/api/v1/workloads",
                                     .body = R"({"workloads":[{"run":["sleep","1000"],"resources":{"gpu":8}}]})"});
  MOULIN_CHECK(whole.has_value() && whole->status == 201, "the devices are taken");
  auto project =
      server.client().send({.method = Method::kPost, .path = "/api/v1/projects", .body = R"({"name":"calm"})"});
  MOULIN_CHECK(project.has_value() && project->status == 201, "the other project");
  std::string storm_request = http_request("POST", "/api/v1/workloads", server.token, kStormBody);
  std::string calm_request = http_request("POST", "/api/v1/workloads", server.token, kCalmBody);
  auto make = [&](int64_t) { return storm_request; };
  HttpLoad lone(server.port(), 1);
  double before_ms = std::max(calm_ms(lone, calm_request), 5.0);
  LoadOutcome calm = HttpLoad(server.port(), kCalmClients).run_closed(kCalmSeconds, make);
  double sustainable = static_cast<double>(calm.count(201)) / calm.seconds;
  LoadOutcome storm = [&] {
    HttpLoad load(server.port(), kStormClients - kCalmClients);
    return load.run_open(kStormSeconds, 10 * sustainable, make);
  }();
  HttpLoad newcomer(server.port(), 1);  // the first connection has been idle for long, and may be ended meanwhile
  double normal_s = seconds_to_normal(newcomer, calm_request, 2 * before_ms);
  double memory_mb = server.memory_mb("VmHWM");
  int64_t told = storm.count(429) + storm.count(503);
  int64_t other = 0;
  for (const auto& [status, count] : storm.by_status)
    other += status == 201 || status == 429 || status == 503 ? 0 : count;
  MOULIN_CHECK(other == 0, "everybody is answered, and told to wait where need be");
  MOULIN_CHECK(memory_mb < kMemoryMostMb, "memory is bounded");
  fmt::print(
      R"({{"name":"overload","value":{:.2f},"unit":"s","better":"lower","goal":5,)"
      R"("others":{{"sustainable_per_s":{:.0f},"answered_per_s":{:.0f},"accepted_per_s":{:.0f},"told_to_wait":{},)"
      R"("highest_rss_mb":{:.0f},"storm_p99_ms":{:.1f},"before_ms":{:.2f},"clients":{}}}}})"
      "\n",
      normal_s, sustainable, static_cast<double>(storm.latencies_ms.size()) / storm.seconds,
      static_cast<double>(storm.count(201)) / storm.seconds, told, memory_mb, storm.percentile_ms(99), before_ms,
      kStormClients);
}
