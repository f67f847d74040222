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
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "api/api_client.h"
#include "first_instruction.h"

namespace {

using namespace moulin;
using namespace moulin::bench;

constexpr int kStarts = 300;

// `moulin up` as a child process.
class Served {
 public:
  Served(const std::string& binary, const std::string& data) {
    std::string command = "exec " + binary + " up --json --listen 127.0.0.1:0 --simulate 8xH100-80GB --data " + data;
    int pipe[2];
    MOULIN_CHECK(::pipe2(pipe, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
    const char* arguments[] = {"/bin/sh", "-c", command.c_str(), nullptr};
    MOULIN_CHECK(::posix_spawn(&pid_, "/bin/sh", &actions, nullptr, const_cast<char**>(arguments), environ) == 0);
    ::close(pipe[1]);
    std::string line;
    for (char c = 0; ::read(pipe[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(pipe[0]);
    Result<Json> said = parse_json(line);
    MOULIN_CHECK(said.has_value() && said->find("url") != nullptr, "the server serves");
    url = said->find("url")->string();
    std::ifstream(said->find("token_file")->string()) >> token;
  }
  Served(const Served&) = delete;
  ~Served() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  double rss_mb() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string word; status >> word;) {
      if (word == "VmRSS:") {
        double kib = 0;
        status >> kib;
        return kib / 1024;
      }
    }
    return 0;
  }
  std::string url;
  std::string token;

 private:
  pid_t pid_ = 0;
};

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
  Served server((build / "moulin").string(), folder + "/data");
  double rss_mb = server.rss_mb();
  ApiClient api(HttpClient(parse_endpoint(server.url).value(), {.token = server.token}));
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
             server.rss_mb(), percentile(answered, 50));
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path build = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  std::string folder = std::filesystem::absolute(argc > 1 ? argv[1] : ".").string() + "/start-XXXXXX";
  MOULIN_CHECK(::mkdtemp(folder.data()) != nullptr, "a folder for the data can be made");
  measure(folder, build);
  std::filesystem::remove_all(folder);
}
