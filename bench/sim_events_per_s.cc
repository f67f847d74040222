// How quickly the simulation of the whole server goes: events that became durable, in a
// second of one core, with every fault and the costly checks after every 16th batch, as in
// the long lane. Beside it the same with all checks after every batch.
// measures: sim_events_per_s
// runs: 3
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "sim/server/server_run.h"

namespace {

using namespace moulin::sim;

double events_per_second(int64_t publications) {
  constexpr int64_t kEvents = 20'000;
  auto begun = std::chrono::steady_clock::now();
  RunResult result = run_server({.seed = 1, .events = kEvents, .depth = {.publications = publications}});
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (result.wrong) {
    std::fprintf(stderr, "the simulation failed by %s: %s\n", result.wrong->checker.c_str(),
                 result.wrong->text.c_str());
    return 0;
  }
  return static_cast<double>(result.events) / seconds;
}

}  // namespace

int main() {
  double sampled = events_per_second(16);
  double full = events_per_second(1);
  std::fputs(fmt::format("{{\"name\": \"sim_events_per_s\", \"value\": {:.0f}, \"unit\": \"events/s\", \"better\": "
                         "\"higher\", \"goal\": 20000, \"others\": {{\"all_checks_every_batch\": {:.0f}}}}}\n",
                         sampled, full)
                 .c_str(),
             stdout);
  return sampled > 0 && full > 0 ? 0 : 1;
}
