// moulin up: puts a server together, and runs it until somebody stops it.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/json.h"
#include "cli/access.h"
#include "cli/login.h"
#include "cli/terminal.h"
#include "engine/gpu/find_gpus.h"
#include "engine/gpu/host.h"
#include "engine/gpu/measured_activity.h"
#include "engine/local/local_engine.h"
#include "engine/virtual/timed_engine.h"
#include "journal/sqlite_journal.h"
#include "main/local_verbs.h"
#include "main/notify.h"
#include "main/service.h"
#include "main/up_options.h"
#include "main/version.h"
#include "server/server.h"
#include "shim/containment.h"

namespace moulin {

namespace {

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
std::vector<std::string> notes_for(const UpOptions& options, const Containment& containment) {
  if (options.engine == UpOptions::EngineKind::kVirtual)
    return {"the engine is virtual: no program runs, workloads only take their time"};
  std::vector<std::string> notes{"parts of a GPU are advisory: nothing yet keeps a workload inside its part"};
  if (geteuid() != 0) notes.push_back("not started as root: no isolation between users");
  if (starter_account() == "root") notes.push_back("workloads of admin run as root: give people users of their own");
  for (const ContainmentFinding& finding : containment.findings) {
    if (!finding.works) notes.push_back(finding.detail);
  }
  return notes;
}

Result<ServerParts> make_parts(const UpOptions& options, const Containment& containment, const DataFolder& folder,
                               const Installation& installation, ServerLog& log) {
  ServerParts parts;
  auto warn = [&log](const std::string& text) { log.warning(text); };
  parts.journal = TRY(SqliteJournal::open(folder.journal(), {.written_by = kVersion, .warn = warn}));
  GpuOptions gpus{.simulate = options.simulate, .data_folder = folder.path()};
  if (const char* library = getenv("MOULIN_NVML_LIBRARY")) gpus.library = library;
  parts.gpus = TRY(find_gpus(std::move(gpus)));
  if (options.engine == UpOptions::EngineKind::kVirtual) {
    parts.engine = std::make_unique<TimedEngine>();
    return parts;
  }
  std::shared_ptr<ActivitySource> activity;  // empty: what programs declare, and their CPU use
  if (options.simulate.empty()) activity = std::make_shared<MeasuredActivity>(parts.gpus->looks());
  parts.engine = TRY(LocalEngine::open({.data_folder = folder.path(),
                                        .installation = installation,
                                        .inherited = inherited_environment(),
                                        .containment = containment,
                                        .activity = std::move(activity),
                                        .simulated = !options.simulate.empty(),
                                        .warn = warn}));
  return parts;
}

// SIGINT and SIGTERM stop the server in good order, on a thread that waits for them.
void stop_on_signal(Server& server, const sigset_t& signals, std::atomic<bool>& ended) {
  int signal = 0;
  sigwait(&signals, &signal);
  if (!ended) server.request_stop();
}

// Clients ask the default folder, unless somebody logged in to another server.
bool is_found_without_settings(const UpOptions& options) {
  cli::Surroundings surroundings = cli::process_surroundings();
  if (options.data != cli::default_data_folder(surroundings)) return false;
  if (!surroundings.variable("MOULIN_DATA").empty()) return true;
  Result<std::optional<cli::Login>> login = cli::read_login(surroundings);
  return login && !*login;
}

void announce(const Server& server, const UpOptions& options, Console& console) {
  if (console.is_json()) {
    console.print_json(
        Json::object({{"url", server.url()}, {"token_file", server.token_file()}, {"socket", server.socket()}}));
    return;
  }
  std::string text =
      fmt::format("Moulin {} serves {}\nAdministrator's token: {}\n", kVersion, server.url(), server.token_file());
  for (const std::string& note : server.notes()) text += fmt::format("Note: {}\n", note);
  if (!is_found_without_settings(options)) text += fmt::format("For clients: export MOULIN_DATA={}\n", options.data);
  console.print(text + "Try: moulin run --gpu 0.25 -- echo hello\n");
}

Result<int> serve(const UpOptions& options, Console& console) {
  // Blocked before any thread starts, so that only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  // Before any thread starts, too: it forks.
  Containment containment = probe_containment();
  HostFacts host = TRY(host_facts());
  std::unique_ptr<Server> server =
      TRY(Server::start({.data_folder = options.data,
                         .listen = options.listen,
                         .hosts = options.hosts,
                         .base_path = options.base_path,
                         .version = kVersion,
                         .boot_id = host.boot_id,
                         .notes = notes_for(options, containment),
                         .starter_account = starter_account(),
                         .logs_kept = options.logs_kept,
                         .origin = options.origin},
                        [&](const DataFolder& folder, const Installation& installation, ServerLog& log) {
                          return make_parts(options, containment, folder, installation, log);
                        }));
  announce(*server, options, console);
  notify_manager("READY=1");
  std::atomic<bool> ended = false;
  std::thread waiter([&] { stop_on_signal(*server, signals, ended); });
  server->wait();
  ended = true;
  notify_manager("STOPPING=1");
  kill(getpid(), SIGTERM);  // wakes the waiter when it was not a signal that ended us
  waiter.join();
  return 0;
}

Result<int> install(const UpOptions& options, Console& console) {
  ServiceFacts facts = TRY(service_facts());
  facts.arguments = service_arguments(options);
  ServiceStart start = ServiceStart::kNow;
  if (!options.unit_folder.empty()) {
    facts.unit_folder = options.unit_folder;
    start = ServiceStart::kLater;
  }
  InstalledService installed = TRY(install_service(facts, start));
  if (console.is_json()) {
    console.print_json(Json::object({{"unit", installed.unit}, {"started", installed.started}}));
    return 0;
  }
  console.print(fmt::format("{} is written\n", installed.unit));
  const char* systemctl = facts.scope == ServiceScope::kUser ? "systemctl --user" : "systemctl";
  console.note(
      installed.started
          ? fmt::format("Moulin serves now and after each start of the machine; see `{} status moulin`.", systemctl)
          : fmt::format("Start it with `{} enable --now moulin`.", systemctl));
  return 0;
}

}  // namespace

Result<int> run_up(const Call& call, Console& console) {
  UpOptions options = TRY(read_up_options(call));
  return options.wants_service ? install(options, console) : serve(options, console);
}

}  // namespace moulin
