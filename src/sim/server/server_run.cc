#include "sim/server/server_run.h"

#include <fmt/format.h>

#include "shim/temporary_folder.h"
#include "sim/server/dice.h"
#include "sim/server/followers.h"
#include "sim/server/settled.h"

namespace moulin::sim {

namespace {

constexpr int64_t kQuietEvery = 2'500;      // events from one quiet time to the next
constexpr int64_t kStepsMax = 20'000'000;   // without an end: something turns in circles
constexpr int64_t kIdleStepsMax = 200'000;  // without an event
constexpr size_t kFollowers = 3;

}  // namespace

class ServerRun {
 public:
  explicit ServerRun(const RunOptions& options);
  ~ServerRun() { followers_.server_died(); }
  ServerRun(const ServerRun&) = delete;
  ServerRun& operator=(const ServerRun&) = delete;
  RunResult run();

 private:
  enum class Who { kReactor, kCommitter, kReaders, kTime };

  // ---- Turns ----
  void step();
  std::vector<Who> ready() const;
  void take_turn(Who who);
  void wait();
  void after_step();

  // ---- Lives ----
  void begin_life();
  void bury();
  bool reaches_outside();
  void consider_death();
  void die(Fault fault);
  void stopped();

  // ---- What happens by itself ----
  void come_again();
  void mischief();
  void disturb_disk();
  void disturb_node();
  void disturb_gpu();
  void disturb_processes();

  // ---- Quiet times ----
  void quiet();
  void set(Weather weather);
  void settle(Duration duration);
  void settle_alive(Duration duration);
  void finish();

  const RunOptions options_;
  Rng rng_;
  testing::TemporaryFolder folder_;
  Timeline timeline_;
  MachineClocks clocks_;
  Faults faults_;
  Watcher watcher_;
  Machine machine_;
  Hardware hardware_;
  Disk disk_;
  Pulse pulse_;
  Site site_;
  Users users_;
  Followers followers_;

  std::unique_ptr<Life> life_;
  bool is_alive_ = false;
  bool is_power_lost_ = false;
  bool is_stopping_ = false;  // in good order
  Weather weather_ = Weather::kWild;
  int64_t calls_left_ = -1;  // until it dies in the middle of what it does; -1: it does not
  int64_t lives_ = 0;
  Instant begins_at_{};
  bool reactor_ready_ = true;
  bool committer_ready_ = true;
  bool readers_ready_ = true;
  std::optional<Instant> reactor_at_;  // true time
  Instant disk_at_{};
  Instant housekeeper_at_{};
  int64_t next_quiet_ = kQuietEvery;
};

ServerRun::ServerRun(const RunOptions& options)
    : options_(options),
      rng_(options.seed),
      clocks_(timeline_),
      faults_(options.seed),
      watcher_(options.depth),
      machine_(timeline_, faults_, options.seed * 17 + 3),
      disk_(options.disk, folder_.path(), [this] { is_alive_ = false; }),
      site_{.timeline = timeline_,
            .clocks = clocks_,
            .machine = machine_,
            .hardware = hardware_,
            .disk = disk_,
            .watcher = watcher_,
            .faults = faults_,
            .pulse = pulse_,
            .data_folder = folder_ / "data",
            .reaches_outside = [this] { return reaches_outside(); }},
      users_(site_, options.seed, options.users),
      followers_(site_, options.seed, kFollowers) {
  faults_.allow(options.faults);
  timeline_.after({}, [this] { come_again(); });
  timeline_.after(seconds(1), [this] { mischief(); });
}

// ---- Turns ----

std::vector<ServerRun::Who> ServerRun::ready() const {
  std::vector<Who> ready;
  if (life_ != nullptr) {
    bool due = reactor_at_ && *reactor_at_ <= timeline_.now();
    if (reactor_ready_ || due) ready.push_back(Who::kReactor);
    if (committer_ready_ && disk_at_ <= timeline_.now()) ready.push_back(Who::kCommitter);
    if (readers_ready_) ready.push_back(Who::kReaders);
  }
  if (std::optional<Instant> next = timeline_.next(); next && *next <= timeline_.now()) ready.push_back(Who::kTime);
  return ready;
}

void ServerRun::take_turn(Who who) {
  switch (who) {
    case Who::kReactor: {
      ReactorTurn turn = life_->reactor().turn();
      if (turn.then == ReactorTurn::Then::kOver) return stopped();
      reactor_ready_ = turn.then == ReactorTurn::Then::kAgain;
      reactor_at_.reset();
      if (turn.until) reactor_at_ = life_->true_time(*turn.until);
      committer_ready_ = true;
      return;
    }
    case Who::kCommitter:
      committer_ready_ = life_->committer().turn();
      if (!committer_ready_) return;
      reactor_ready_ = readers_ready_ = true;  // somebody may follow what is durable now
      disk_at_ = timeline_.now() + Duration{rng_.below(milliseconds(3).us)};
      if (faults_.strikes(Fault::kSlowCommits, 5'000))
        disk_at_ = timeline_.now() + Duration{faults_.dice(Fault::kSlowCommits).below(seconds(20).us)};
      return;
    case Who::kReaders: readers_ready_ = life_->readers().turn(); return;
    case Who::kTime:
      timeline_.run_due();
      reactor_ready_ = true;
      readers_ready_ = true;
      return;
  }
}

// Nobody has anything to do now: time goes on to when somebody has.
void ServerRun::wait() {
  Instant next = timeline_.now() + seconds(1);
  auto earlier = [&](std::optional<Instant> when) {
    if (when && *when > timeline_.now()) next = std::min(next, *when);
  };
  earlier(timeline_.next());
  if (life_ != nullptr) {
    earlier(reactor_at_);
    if (committer_ready_) earlier(disk_at_);
    earlier(housekeeper_at_);
  } else {
    earlier(begins_at_);
  }
  timeline_.advance_to(next);
}

void ServerRun::step() {
  if (life_ == nullptr && timeline_.now() >= begins_at_) begin_life();
  if (life_ != nullptr && timeline_.now() >= housekeeper_at_) {
    life_->housekeeper().turn();
    housekeeper_at_ = timeline_.now() + seconds(1);
    reactor_ready_ = true;
  }
  std::vector<Who> who = ready();
  if (who.empty())
    wait();
  else
    take_turn(who[static_cast<size_t>(rng_.below(std::ssize(who)))]);
  after_step();
}

void ServerRun::after_step() {
  if (life_ != nullptr && is_alive_ && !is_stopping_) consider_death();
  if (life_ != nullptr && !is_alive_) bury();
}

// ---- Lives ----

void ServerRun::begin_life() {
  is_alive_ = true;
  calls_left_ = -1;
  is_stopping_ = false;
  ++lives_;
  watcher_.note("  the server begins");
  Result<std::unique_ptr<Life>> begun = Life::begin(site_, [this] { return is_alive_; });
  if (begun) {
    life_ = std::move(*begun);
    reactor_ready_ = committer_ready_ = readers_ready_ = true;
    reactor_at_.reset();
    housekeeper_at_ = timeline_.now();
    return;
  }
  watcher_.note("  it did not begin: " + begun.error().to_text());
  if (begun.error().code != Code::kUnavailable) watcher_.complain("recovery", begun.error().to_text());
  is_alive_ = false;
  begins_at_ = timeline_.now() + seconds(1);
}

// It is dead: what outlives it goes on.
void ServerRun::bury() {
  watcher_.note("  the server is dead");
  users_.server_died();
  followers_.server_died();
  life_.reset();
  disk_.mend();
  if (is_power_lost_) {
    machine_.reboot();
    clocks_.reboot();
    disk_.lose_power(faults_.dice(Fault::kPowerLoss));
    is_power_lost_ = false;
  }
  begins_at_ = timeline_.now() + Duration{rng_.below(seconds(20).us)};
}

bool ServerRun::reaches_outside() {
  if (calls_left_ > 0 && --calls_left_ == 0) is_alive_ = false;
  return is_alive_;
}

void ServerRun::consider_death() {
  if (faults_.strikes(Fault::kKill, 60)) die(Fault::kKill);
  if (faults_.strikes(Fault::kPowerLoss, 25)) {
    is_power_lost_ = true;
    die(Fault::kPowerLoss);
  }
}

// Between two turns, in the middle of what follows a commit, or in the middle of an append.
void ServerRun::die(Fault fault) {
  Rng& dice = faults_.dice(fault);
  watcher_.note("  the server is to die");
  switch (dice.below(6)) {
    case 0: is_alive_ = false; return;
    case 5: is_stopping_ = true; return life_->reactor().stop();
    case 1: calls_left_ = dice.between(1, 6); return;
    case 2: return disk_.die(Death::kBefore, 0);
    case 3: return disk_.die(Death::kAfter, 0);
  }
  disk_.die(Death::kWithin, dice.below(8));
}

// It was asked to end and has: whoever asked it something was answered.
void ServerRun::stopped() {
  while (life_->readers().turn()) {}
  for (const std::string& line : users_.unanswered())
    watcher_.complain("answers", line + " was not answered before the end");
  is_alive_ = false;
}

// ---- What happens by itself ----

void ServerRun::come_again() {
  if (weather_ == Weather::kWild && life_ != nullptr) {
    users_.ask(*life_);
    followers_.come(*life_, users_.admin_token());
  }
  Duration pause = rng_.chance(300) ? Duration{rng_.below(milliseconds(5).us)} : Duration{rng_.below(seconds(4).us)};
  if (rng_.chance(1)) pause = hours(rng_.between(1, 26));
  timeline_.after(pause, [this] { come_again(); });
}

void ServerRun::mischief() {
  timeline_.after(seconds(1), [this] { mischief(); });
  disturb_disk();
  disturb_node();
  disturb_gpu();
  disturb_processes();
  if (faults_.strikes(Fault::kWallStep, 1'000)) {
    Rng& dice = faults_.dice(Fault::kWallStep);
    clocks_.step_wall(seconds(dice.between(-100, 100)));
  }
}

void ServerRun::disturb_disk() {
  if (!faults_.strikes(Fault::kDiskFull, 2'000) || life_ == nullptr) return;
  watcher_.note("  the disk is full");
  disk_.fill();
  timeline_.after(Duration{faults_.dice(Fault::kDiskFull).below(seconds(30).us)}, [this] { disk_.mend(); });
}

void ServerRun::disturb_node() {
  if (!faults_.strikes(Fault::kNodeLoss, 2'000)) return;
  Rng& dice = faults_.dice(Fault::kNodeLoss);
  NodeName node = hardware_.nodes()[static_cast<size_t>(dice.below(std::ssize(hardware_.nodes())))].name;
  watcher_.note("  " + node.text + " falls silent");
  machine_.silence(node);
  auto tell = [this, node](Presence presence) {
    if (life_ != nullptr) life_->reactor().report(command::ReportPresence{node, presence});
  };
  tell(Presence::kDown);
  bool comes_back = dice.chance(500);
  timeline_.after(seconds(dice.between(1, 120)), [this, node, tell, comes_back] {
    if (comes_back)
      machine_.unsilence(node);
    else
      machine_.fence(node);
    tell(Presence::kUp);
  });
}

void ServerRun::disturb_gpu() {
  if (!faults_.strikes(Fault::kUnhealthyGpu, 6'000)) return;
  Rng& dice = faults_.dice(Fault::kUnhealthyGpu);
  const Node& node = hardware_.nodes()[static_cast<size_t>(dice.below(std::ssize(hardware_.nodes())))];
  GpuUuid uuid = node.gpus[static_cast<size_t>(dice.below(std::ssize(node.gpus)))].uuid;
  GpuVerdict verdict{.health = static_cast<Health>(dice.below(3))};
  if (verdict.health != Health::kHealthy) verdict.reason = "XID 79";
  hardware_.change(uuid, verdict, dice.chance(300) ? 1 : 0);
  timeline_.after(seconds(dice.between(1, 200)), [this, uuid] { hardware_.change(uuid, {}, 0); });
}

void ServerRun::disturb_processes() {
  if (!faults_.strikes(Fault::kVanished, 6'000)) return;
  switch (faults_.dice(Fault::kVanished).below(3)) {
    case 0: return machine_.vanish_one();
    case 1: return machine_.forget_one(watcher_.state());
  }
  machine_.bring_stranger();
}

// ---- Quiet times ----

void ServerRun::set(Weather weather) {
  weather_ = weather;
  faults_.set(weather);
  machine_.set(weather);
  if (weather == Weather::kWild) return;
  disk_.mend();
  hardware_.heal();
  for (const Node& node : hardware_.nodes()) {
    machine_.unsilence(node.name);
    if (life_ != nullptr) life_->reactor().report(command::ReportPresence{node.name, Presence::kUp});
  }
}

void ServerRun::settle(Duration duration) {
  Instant until = timeline_.now() + duration;
  for (int64_t steps = 0; timeline_.now() < until && !watcher_.wrong(); ++steps) {
    if (steps > kStepsMax) return watcher_.complain("settling", "nothing comes to an end");
    step();
  }
}

// Nothing new and nothing wrong for a while, in one life.
void ServerRun::settle_alive(Duration duration) {
  for (int64_t life = -1; life != lives_ && !watcher_.wrong();) {
    while (life_ == nullptr && !watcher_.wrong()) step();
    set(Weather::kCalm);
    life = life_ == nullptr ? -1 : lives_;
    settle(duration);
    if (life_ == nullptr) life = -1;  // a death that was under way already
  }
}

// Then all accounts must be even.
void ServerRun::quiet() {
  watcher_.note("  a quiet time");
  settle_alive(minutes(20));
  if (!watcher_.wrong()) check_settled(*life_, site_, users_);
  followers_.check_settled();
  set(Weather::kWild);
}

// Everything is stopped: nothing may be held any more, by anybody.
void ServerRun::finish() {
  quiet();
  settle_alive(seconds(1));
  if (watcher_.wrong()) return;
  users_.stop_everything(*life_);
  settle_alive(minutes(20));
  if (!watcher_.wrong()) check_settled(*life_, site_, users_);
  if (!watcher_.wrong()) check_empty(*life_, site_);
}

RunResult ServerRun::run() {
  int64_t idle = 0;
  int64_t seen = 0;
  while (!watcher_.wrong() && watcher_.events() < options_.events) {
    step();
    idle = watcher_.events() == seen ? idle + 1 : 0;
    seen = watcher_.events();
    if (idle > kIdleStepsMax) watcher_.complain("progress", "nothing happens any more");
    if (watcher_.events() >= next_quiet_ && !watcher_.wrong()) {
      quiet();
      next_quiet_ = watcher_.events() + kQuietEvery;
    }
  }
  if (!watcher_.wrong()) finish();
  return {.wrong = watcher_.wrong(),
          .events = watcher_.events(),
          .requests = users_.asked(),
          .lives = lives_,
          .followed = followers_.arrived(),
          .hash = watcher_.hash(),
          .counts = watcher_.counts(),
          .tail = watcher_.tail()};
}

RunResult run_server(const RunOptions& options) {
  predictable_randomness(options.seed);
  return ServerRun(options).run();
}

}  // namespace moulin::sim
