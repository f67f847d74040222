// From a submission to the first instruction of the user's process, through the whole
// server; and what an idle server holds in memory.
//
//   bench_start [FOLDER]
//
// measures: start_p50_ms start_p99_ms rss_idle_mb
//
// Work: the real binary serves simulated devices from a folder on disk (durable journal,
// real shim in the strongest containment that works here). 300 workloads on a quarter of
// a device are submitted one after the other over one kept connection; each is a static
// program that writes down the time as its first act. The limit is the same program
// started by a bare posix_spawn, in turn with ours. Memory is measured right after the
// server says that it serves. FOLDER is for the data; default: the current folder.
#include <filesystem>
#include <thread>

#include "api/api_client.h"
#include "first_instruction.h"
#include "served.h"

namespace {

using namespace moulin;
using namespace moulin::bench;

constexpr int kStarts = 300;

void await_end(ApiClient& api, WorkloadId id) {
  for (int i = 0; i < 30'000; ++i) {
    auto shown = api.ask(wire::ShowWorkload{.workload = id});
    MOULIN_CHECK(shown.has_value(), "the workload is known");
    if (is_finished(shown->state)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  MOULIN_CHECK(false, "a workload ends within 30 s");
}

void measure(const std::string& folder, const std::filesystem::path& build) {
  std::string program = (build / "tests/first_instruction").string();
  Stamps stamps(folder + "/stamp");
  Served server(folder + "/data");
  double rss_mb = server.memory_mb();
  ApiClient api(server.client());
  Json document = Json::object({{"run", Json::array({program, stamps.path()})},
                                {"folder", folder},
                                {"resources", Json::object({{"gpu", JsonNumber{"0.25"}}})}});
  std::vector<double> ours;
  std::vector<double> answered;
  std::vector<double> bare;
  for (int i = 0; i < kStarts; ++i) {
    bare.push_back(bare_ms(program, stamps));
    int64_t asked = now_ns();
    auto made = api.ask(wire::SubmitWorkloads{}, {.workloads = {document}});
    answered.push_back(static_cast<double>(now_ns() - asked) / 1e6);
    MOULIN_CHECK(made.has_value(), made ? "" : made.error().to_text());
    ours.push_back(static_cast<double>(stamps.next_ns() - asked) / 1e6);
    await_end(api, made->ids.front());
  }
  print_ms({.name = "start_p50_ms", .value = percentile(ours, 50), .goal = 10, .limit = percentile(bare, 50)});
  print_ms({.name = "start_p99_ms", .value = percentile(ours, 99), .goal = 40, .limit = percentile(bare, 99)});
  fmt::print("{{\"name\":\"rss_idle_mb\",\"value\":{:.1f},\"unit\":\"MiB\",\"better\":\"lower\",\"goal\":60,", rss_mb);
  fmt::print("\"others\":{{\"after_{}_workloads\":{:.1f},\"submit_answered_p50_ms\":{:.3f}}}}}\n", kStarts,
             server.memory_mb(), percentile(answered, 50));
}

}  // namespace

int main(int argc, char** argv) {
  Scratch scratch(argc > 1 ? argv[1] : ".");
  measure(scratch.path(), build_folder());
}
