#include "server/server.h"

#include <condition_variable>
#include <mutex>

#include "engine/local/rendezvous.h"
#include "journal/committer.h"
#include "server/bootstrap.h"
#include "server/gpu_watch.h"
#include "server/handlers/dispatch.h"
#include "server/housekeeper.h"
#include "server/log_retention.h"
#include "server/recovery.h"
#include "server/system_clock.h"

namespace moulin {

namespace {

constexpr Duration kDrain = seconds(5);
constexpr Bytes kSubmissionsMost = mebibytes(256);
// Below what connections allow, so that clients are told to wait while all can be told.
constexpr size_t kCommandsQueuedMax = 500;
constexpr size_t kAttemptTokenBytes = 16;

// The largest id in use: ids go on from there even when the wall clock was set back.
uint64_t last_id(const State& state) {
  uint64_t last = 0;
  for (const auto& [id, workload] : state.workloads) last = std::max(last, id.number);
  for (const auto& [id, token] : state.tokens) last = std::max(last, id.number);
  return last;
}

command::AttemptIdentity identity_for(const StartItem& item, ServerLog& log) {
  command::AttemptIdentity identity{.token = random_hex(kAttemptTokenBytes), .rendezvous_port = 0};
  if (item.replicas.size() < 2) return identity;
  Result<int> port = reserve_port();
  if (port)
    identity.rendezvous_port = *port;
  else
    log.warning("no port for a rendezvous: " + port.error().to_text());
  return identity;
}

}  // namespace

// In the order of construction; destroyed the other way round.
struct Server::Implementation {
  Implementation(ServerOptions given, DataFolder opened)
      : options(std::move(given)), folder(std::move(opened)), log(folder.log()) {}

  // Threads end before what they use.
  ~Implementation() {
    if (http) http->stop(kDrain);
    // Each may call the other until both have ended.
    if (readers) readers->stop();
    pulse.reset();
    execs.reset();
    readers.reset();
    log_retention.reset();
    housekeeper.reset();
    parts.gpus.reset();
    if (reactor) reactor->stop();
    committer.reset();
    parts.engine.reset();
  }

  ReactorWorld reactor_world();
  Status recover();
  Status serve();

  ServerOptions options;
  DataFolder folder;
  ServerLog log;
  ServerParts parts;
  std::unique_ptr<SystemClock> clock;
  std::unique_ptr<IdMaker> ids;
  EventHub events;
  std::unique_ptr<Readers> readers;
  std::unique_ptr<Pulse> pulse;
  std::unique_ptr<ExecBridges> execs;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Housekeeper> housekeeper;
  std::unique_ptr<LogRetention> log_retention;
  ServerFacts facts;
  HttpMetrics http_metrics;
  Digests digests;
  ByteBudget submissions{kSubmissionsMost};
  std::unique_ptr<World> world;
  std::unique_ptr<HttpServer> http;

  std::mutex mutex;
  std::condition_variable changed;
  bool stop_requested = false;
};

ReactorWorld Server::Implementation::reactor_world() {
  return {.journal = *parts.journal,
          .committer = *committer,
          .clock = *clock,
          .engine = *parts.engine,
          .events = events,
          .identity_for = [this](const StartItem& item) { return identity_for(item, log); },
          .log = [this](std::string_view text) { log.warning(text); }};
}

// From the journal to a reactor that knows its nodes and has adopted what runs.
Status Server::Implementation::recover() {
  Core core = TRY(recover_core(*parts.journal));
  clock = std::make_unique<SystemClock>(core.state().now, core.state().wall_offset);
  ids = std::make_unique<IdMaker>(last_id(core.state()));
  facts = {.version = options.version,
           .data_folder = folder.path(),
           .started = clock->now(),
           .inventory = TRY(parts.gpus->discover()),
           .isolates_users = !options.starter_account.empty(),
           .logs_kept = options.logs_kept,
           .notes = options.notes};
  if (!facts.inventory.note.empty()) facts.notes.push_back(facts.inventory.note);
  committer = std::make_unique<Committer>(*parts.journal);
  committer->start();
  LaunchSettings launch{.data_folder = folder.path(),
                        .simulated = facts.inventory.source == GpuSource::kSimulated,
                        .isolates_users = facts.isolates_users};
  reactor = std::make_unique<Reactor>(
      reactor_world(), ReactorOptions{.queue_max = kCommandsQueuedMax, .launch = std::move(launch)}, std::move(core));
  parts.engine->on_report([this](EngineReport report) { reactor->report(command::TakeReport{std::move(report)}); });
  reactor->start();
  BootstrapFacts begin{
      .boot_id = options.boot_id, .version = options.version, .starter_account = options.starter_account};
  TRY(bootstrap(*reactor, *clock, *ids, facts.inventory, begin, folder,
                [this](CommandBody body) { return give(*reactor, std::move(body)); }));
  housekeeper = std::make_unique<Housekeeper>(*reactor, *parts.engine, *parts.journal, *clock, HousekeeperOptions{},
                                              [this](std::string_view text) { log.warning(text); });
  housekeeper->start();
  log_retention = std::make_unique<LogRetention>(*reactor, *clock, folder.path(), options.logs_kept,
                                                 [this](std::string_view text) { log.warning(text); });
  watch_gpus(*parts.gpus, *reactor, *parts.engine);
  return {};
}

Status Server::Implementation::serve() {
  readers = std::make_unique<Readers>(ReadersOptions{});
  pulse = std::make_unique<Pulse>();
  execs = std::make_unique<ExecBridges>();
  world = std::make_unique<World>(World{.reactor = *reactor,
                                        .journal = *parts.journal,
                                        .committer = *committer,
                                        .events = events,
                                        .clock = *clock,
                                        .engine = *parts.engine,
                                        .gpus = *parts.gpus,
                                        .ids = *ids,
                                        .readers = *readers,
                                        .pulse = *pulse,
                                        .submissions = submissions,
                                        .http_metrics = http_metrics,
                                        .digests = digests,
                                        .execs = *execs,
                                        .facts = facts,
                                        .stop_server =
                                            [this] {
                                              std::lock_guard lock(mutex);
                                              stop_requested = true;
                                              changed.notify_all();
                                            },
                                        .http_counters = [this] { return http ? http->counters() : HttpCounters{}; }});
  HttpServerOptions listen{.tcp = options.listen,
                           .unix_path = folder.socket(),
                           .base_path = options.base_path,
                           .hosts = {.names = options.hosts}};
  listen.report = [this](std::string_view text) { log.warning(text); };
  http = TRY(HttpServer::start(std::move(listen), [this](Request request, Responder responder) {
    dispatch(*world, std::move(request), std::move(responder));
  }));
  log.info("serving " + http->url());
  return {};
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, const MakeParts& make_parts) {
  DataFolder folder = TRY(DataFolder::open(options.data_folder));
  Installation installation = TRY(identify(folder, options.boot_id, options.origin));
  auto implementation = std::make_unique<Implementation>(std::move(options), std::move(folder));
  implementation->parts = TRY(make_parts(implementation->folder, installation, implementation->log));
  TRY(implementation->recover());
  TRY(implementation->serve());
  return std::unique_ptr<Server>(new Server(std::move(implementation)));
}

Server::Server(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Server::~Server() = default;

std::string Server::url() const { return implementation_->http->url(); }
std::string Server::token_file() const { return implementation_->folder.admin_token(); }
std::string Server::socket() const { return implementation_->folder.socket(); }
std::vector<std::string> Server::notes() const { return implementation_->facts.notes; }

void Server::wait() {
  std::unique_lock lock(implementation_->mutex);
  implementation_->changed.wait(lock, [this] { return implementation_->stop_requested; });
}

void Server::request_stop() { implementation_->world->stop_server(); }

}  // namespace moulin
