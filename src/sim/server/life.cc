#include "sim/server/life.h"

#include <utility>

#include "server/gpu_watch.h"
#include "server/recovery.h"

namespace moulin::sim {

namespace {

constexpr size_t kEventsMax = 100'000;  // of one publication
constexpr int kBootTurnsMax = 10'000;

// Small, so that a run meets all bounds.
ReactorOptions reactor_options(const std::string& data_folder) {
  return {.queue_max = 60,
          .batch_max = 16,
          .pass = {.candidates_max = 2'000, .starts_max = 8, .evictions_max = 8},
          .launch = {.data_folder = data_folder, .simulated = true}};
}
constexpr CommitterOptions kCommitter{.batches_max = 4, .group_records_max = 64};
constexpr HousekeeperOptions kHousekeeper{.snapshot_events = 700};

uint64_t last_id(const State& state) {
  uint64_t last = 0;
  for (const auto& [id, workload] : state.workloads) last = std::max(last, id.number);
  for (const auto& [id, token] : state.tokens) last = std::max(last, id.number);
  return last;
}

}  // namespace

// The engine as this server sees it: the machine, until the server is dead.
class Life::EngineView final : public Engine {
 public:
  explicit EngineView(Life& life) : life_(life) {}

  EngineAbilities abilities() const override { return {.simulated = true}; }
  void on_report(std::function<void(EngineReport)> sink) override { life_.site_.machine.connect(std::move(sink)); }
  Result<std::unique_ptr<ExecChannel>> exec(const ReplicaKey&, const std::string&, const ExecCommand&) override {
    return Error{.code = Code::kRefused, .message = "no program runs in a simulation"};
  }
  void start(ReplicaLaunch launch) override {
    if (!is_heard()) return;
    life_.site_.watcher.asked_start(launch);
    life_.site_.machine.start(std::move(launch));
  }
  void end(ReplicaKey key, std::string token, EndReason reason, Duration grace) override {
    if (!is_heard()) return;
    life_.site_.watcher.asked_end(key, token);
    life_.site_.machine.end(key, token, reason, grace);
  }
  void release(ReplicaKey key, std::string token) override {
    if (!is_heard()) return;
    life_.site_.watcher.asked_release(key, token);
    life_.site_.machine.release(key, token);
  }
  Held list() override { return {.replicas = life_.site_.machine.list()}; }
  bool is_ours(int64_t) const override { return false; }

 private:
  bool is_heard() { return life_.site_.reaches_outside(); }
  Life& life_;
};

Life::Life(Site& site, std::function<bool()> is_alive) : site_(site), is_alive_(std::move(is_alive)) {}

Result<std::unique_ptr<Life>> Life::begin(Site& site, std::function<bool()> is_alive) {
  std::unique_ptr<Life> life(new Life(site, std::move(is_alive)));
  TRY(life->recover());
  TRY(life->boot());
  return life;
}

// In the order of Server, so that an end in the middle of anything is tried.
Life::~Life() {
  listening_.reset();
  site_.machine.disconnect();
  if (readers_) readers_->stop();
  readers_.reset();
  housekeeper_.reset();
  gpus_.reset();
  if (reactor_) reactor_->stop();
  committer_.reset();
  world_.reset();
  reactor_.reset();
  site_.disk.close();
}

Status Life::recover() {
  folder_.emplace(TRY(DataFolder::open(site_.data_folder)));
  journal_ = TRY(site_.disk.open());
  Core core = TRY(recover_core(*journal_));
  site_.watcher.recovered(*journal_, core.state());
  clock_ = std::make_unique<VirtualClock>(site_.clocks, core.state().now, core.state().wall_offset);
  ids_ = std::make_unique<IdMaker>(last_id(core.state()));
  gpus_ = site_.hardware.gpus();
  facts_ = {.version = "sim",
            .data_folder = site_.data_folder,
            .started = clock_->now(),
            .inventory = TRY(gpus_->discover()),
            .isolates_users = false,
            .notes = {}};
  committer_ = std::make_unique<Committer>(*journal_, kCommitter);
  engine_ = std::make_unique<EngineView>(*this);
  listening_ = events_.listen([this] {
    if (!site_.reaches_outside()) return;
    site_.watcher.published(events_.after({site_.watcher.events()}, kEventsMax).events);
    site_.watcher.published_view(*reactor_->view());
  });
  ReactorWorld world{.journal = *journal_,
                     .committer = *committer_,
                     .clock = *clock_,
                     .engine = *engine_,
                     .events = events_,
                     .identity_for =
                         [](const StartItem& item) {
                           return command::AttemptIdentity{.token = random_hex(16),
                                                           .rendezvous_port = item.replicas.size() > 1 ? 20'000 : 0};
                         },
                     .log = [this](std::string_view text) { site_.watcher.note("  log: " + std::string(text)); }};
  reactor_ = std::make_unique<Reactor>(std::move(world), reactor_options(site_.data_folder), std::move(core));
  return {};
}

Status Life::boot() {
  engine_->on_report([this](EngineReport report) { reactor_->report(command::TakeReport{std::move(report)}); });
  reactor_->begin();
  readers_ = std::make_unique<Readers>(ReadersOptions{.threads = 0});
  BootstrapFacts facts{.boot_id = site_.clocks.boot_id(), .version = "sim", .starter_account = {}};
  TRY(bootstrap(*reactor_, *clock_, *ids_, facts_.inventory, facts, *folder_,
                [this](CommandBody body) { return give(std::move(body)); }));
  housekeeper_ = std::make_unique<Housekeeper>(
      *reactor_, *engine_, *journal_, *clock_, kHousekeeper,
      [this](std::string_view text) { site_.watcher.note("  log: " + std::string(text)); });
  watch_gpus(*gpus_, *reactor_, *engine_);
  world_ = std::make_unique<World>(World{.reactor = *reactor_,
                                         .journal = *journal_,
                                         .committer = *committer_,
                                         .events = events_,
                                         .clock = *clock_,
                                         .engine = *engine_,
                                         .gpus = *gpus_,
                                         .ids = *ids_,
                                         .readers = *readers_,
                                         .pulse = site_.pulse,
                                         .submissions = submissions_,
                                         .http_metrics = http_metrics_,
                                         .digests = digests_,
                                         .execs = execs_,
                                         .facts = facts_,
                                         .stop_server = [] {},
                                         .http_counters = [] { return HttpCounters{}; }});
  return {};
}

Result<Events> Life::give(CommandBody body) {
  auto answer = std::make_shared<std::optional<Result<Events>>>();
  reactor_->submit(Actor{}, std::move(body), [answer](const Result<Events>& result) { answer->emplace(result); });
  for (int turns = 0; turns < kBootTurnsMax && is_alive_(); ++turns) {
    reactor_->turn();
    committer_->turn();
    if (*answer) return **answer;
  }
  return Error{.code = Code::kUnavailable, .message = "the server died before it served"};
}

void Life::dispatch_request(Request request, Responder responder) {
  dispatch(*world_, std::move(request), std::move(responder));
}

Instant Life::true_time(Instant instant) const { return site_.timeline.now() + (instant - clock_->now()); }

}  // namespace moulin::sim
