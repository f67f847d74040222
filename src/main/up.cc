#include "main/up.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/json.h"
#include "cli/access.h"
#include "cli/console.h"
#include "cli/terminal.h"
#include "engine/gpu/find_gpus.h"
#include "engine/gpu/host.h"
#include "engine/gpu/measured_activity.h"
#include "engine/local/local_engine.h"
#include "journal/sqlite_journal.h"
#include "main/version.h"
#include "server/server.h"
#include "shim/containment.h"

namespace moulin {

namespace {

struct UpOptions {
  std::string data;
  TcpAddress listen{.host = "127.0.0.1", .port = kUsualPort};
  std::string simulate;
  bool json = false;
};

Result<TcpAddress> parse_listen(std::string_view text) {
  size_t colon = text.rfind(':');
  int port = -1;
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size()) port = -1;
  }
  if (colon == 0 || port < 0 || port > 65535) {
    return Error{.code = Code::kInvalid,
                 .message = "not an address to listen on",
                 .field = "--listen",
                 .given = std::string(text.substr(0, 200)),
                 .allowed = "HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:6468"};
  }
  std::string host(text.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return TcpAddress{.host = host, .port = static_cast<uint16_t>(port)};
}

Result<UpOptions> read_options(const Call& call) {
  UpOptions options;
  options.data = default_data_folder(process_surroundings());
  if (const std::string* data = call.value("data")) options.data = *data;
  if (const std::string* listen = call.value("listen")) options.listen = TRY(parse_listen(*listen));
  if (const std::string* simulate = call.value("simulate")) options.simulate = *simulate;
  options.json = call.form == Form::kJson;
  return options;
}

// What replicas take from the server when their launch does not say.
InheritedEnvironment inherited_environment() {
  InheritedEnvironment inherited;
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    if (const char* value = getenv(name)) inherited[name] = value;
  }
  return inherited;
}

// Who started a server that runs as root; empty when it does not.
std::string starter_account() {
  if (geteuid() != 0) return "";
  const char* behind_sudo = getenv("SUDO_USER");
  return behind_sudo != nullptr && *behind_sudo != '\0' ? behind_sudo : "root";
}

// Said by `moulin up`, `doctor` and the API.
std::vector<std::string> notes_for(const Containment& containment) {
  std::vector<std::string> notes{"parts of a GPU are advisory: nothing yet keeps a workload inside its part"};
  if (geteuid() != 0) notes.push_back("not started as root: no isolation between users");
  if (starter_account() == "root") notes.push_back("workloads of admin run as root: give people users of their own");
  for (const ContainmentFinding& finding : containment.findings) {
    if (!finding.works) notes.push_back(finding.detail);
  }
  return notes;
}

Result<ServerParts> make_parts(const UpOptions& options, const Containment& containment, const DataFolder& folder,
                               ServerLog& log) {
  ServerParts parts;
  auto warn = [&log](const std::string& text) { log.warning(text); };
  parts.journal = TRY(SqliteJournal::open(folder.journal(), {.written_by = kVersion, .warn = warn}));
  GpuOptions gpus{.simulate = options.simulate, .data_folder = folder.path()};
  if (const char* library = getenv("MOULIN_NVML_LIBRARY")) gpus.library = library;
  parts.gpus = TRY(find_gpus(std::move(gpus)));
  std::shared_ptr<ActivitySource> activity;  // empty: what programs declare, and their CPU use
  if (options.simulate.empty()) activity = std::make_shared<MeasuredActivity>(parts.gpus->looks());
  parts.engine = TRY(LocalEngine::open({.data_folder = folder.path(),
                                        .inherited = inherited_environment(),
                                        .containment = containment,
                                        .activity = std::move(activity),
                                        .simulated = !options.simulate.empty()}));
  return parts;
}

// SIGINT and SIGTERM stop the server in good order, on a thread that waits for them.
void stop_on_signal(Server& server, const sigset_t& signals, std::atomic<bool>& ended) {
  int signal = 0;
  sigwait(&signals, &signal);
  if (!ended) server.request_stop();
}

void announce(const Server& server, const UpOptions& options) {
  if (options.json) {
    Json line = Json::object({{"url", server.url()}, {"token_file", server.token_file()}, {"socket", server.socket()}});
    std::printf("%s\n", write_json(line).c_str());
  } else {
    std::printf("Moulin %s serves %s\n", kVersion, server.url().c_str());
    std::printf("Administrator's token: %s\n", server.token_file().c_str());
    for (const std::string& note : server.notes()) std::printf("Note: %s\n", note.c_str());
    if (options.data != default_data_folder(process_surroundings())) {
      std::string folder = std::filesystem::absolute(server.token_file()).parent_path().string();
      std::printf("For clients: export MOULIN_DATA=%s\n", folder.c_str());
    }
    std::printf("Try: moulin run --gpu 0.25 -- echo hello\n");
  }
  std::fflush(stdout);
}

int fail(const Error& error) {
  std::fputs(error_text(error, View{}).c_str(), stderr);
  return exit_status(error.code);
}

}  // namespace

int up_main(const Call& call) {
  Result<UpOptions> options = read_options(call);
  if (!options) return fail(options.error());
  // Blocked before any thread starts, so that only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  // Before any thread starts, too: it forks.
  Containment containment = probe_containment();
  Result<HostFacts> host = host_facts();
  if (!host) return fail(host.error());
  Result<std::unique_ptr<Server>> server = Server::start(
      {.data_folder = options->data,
       .listen = options->listen,
       .version = kVersion,
       .boot_id = host->boot_id,
       .notes = notes_for(containment),
       .starter_account = starter_account()},
      [&](const DataFolder& folder, ServerLog& log) { return make_parts(*options, containment, folder, log); });
  if (!server) return fail(server.error());
  announce(**server, *options);
  std::atomic<bool> ended = false;
  std::thread waiter([&] { stop_on_signal(**server, signals, ended); });
  (*server)->wait();
  ended = true;
  kill(getpid(), SIGTERM);  // wakes the waiter when it was not a signal that ended us
  waiter.join();
  return 0;
}

}  // namespace moulin
