#include "sim/simulation.h"

#include <fmt/format.h>

#include "base/codec.h"

namespace moulin {

namespace {

// More rounds at one instant, or stops on the way of one advance(), mean a loop.
constexpr int kRoundsMax = 1'000;
constexpr int kStopsMax = 1'000'000;

constexpr Instant kBegin = Instant{} + hours(1);

}  // namespace

Simulation::Simulation(const Settings& settings)
    : now_(kBegin), engine_(settings.seed), rebuilds_(settings.rebuilds), budget_(settings.budget) {
  MOULIN_CHECK(
      give({}, command::BeginEpoch{.boot_id = "boot-1", .wall_offset = {}, .version = "sim", .simulated = true}));
}

void Simulation::wrong(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

void Simulation::apply(const Event& event) {
  State before = core_.state();
  core_.apply(event);
  round_.follow(core_.state(), event);
  journal_.push_back(event);
  if (Violation violation = check_event(before, event, core_.state())) wrong(*violation);
  Violation violation = rebuilds_ == Rebuilds::kEveryEvent ? check_core(core_) : check_state(core_.state());
  if (violation) wrong(fmt::format("after {}: {}", event_word(event.body), *violation));
  engine_.hear(core_.state(), event);
}

Result<Events> Simulation::give(const UserName& user, CommandBody body) {
  Grounds grounds{core_.state(), core_.index(), core_.agenda()};
  Command command{.actor = {.user = user, .workload = {}}, .at = now_, .body = std::move(body)};
  Result<Events> events = decide(grounds, command);
  if (!events) return events;
  for (const Event& event : *events) apply(event);
  if (Violation violation = check_between_commands(core_.state())) wrong(*violation);
  return events;
}

bool Simulation::deliver() {
  std::vector<EngineReport> reports = engine_.take(core_.state(), now_);
  for (EngineReport& report : reports) {
    if (Result<Events> done = give({}, command::TakeReport{std::move(report)}); !done)
      wrong("a report is refused: " + done.error().to_text());
  }
  return !reports.empty();
}

bool Simulation::tick() {
  std::optional<Instant> due = core_.agenda().next();
  if (!due || *due > now_) return false;
  Result<Events> done = give({}, command::Tick{});
  if (!done || done->empty()) wrong("something is due and nothing happens");
  return violation_.empty();
}

// A round that looks only at some decides what a look at everybody would.
Violation Simulation::check_plan(const Plan& plan) const {
  Plan whole = make_plan(core_.view(now_), budget_);
  if (!plan.complete || !whole.complete) return {};
  if (plan.starts != whole.starts || plan.evictions != whole.evictions || plan.claims != whole.claims)
    return "a round decides otherwise than a look at everybody";
  bool all_stay = plan.starts.empty() && plan.evictions.empty();
  std::map<WorkloadId, std::vector<ReasonCode>> waits;
  for (const WaitItem& item : plan.waits) waits[item.workload] = item.reasons;
  for (const WaitItem& item : whole.waits) {
    auto found = waits.find(item.workload);
    const auto& reasons = found != waits.end() ? found->second : core_.state().workload(item.workload)->waiting_for;
    if ((all_stay || found != waits.end()) && reasons != item.reasons)
      return fmt::format("{} waits for other reasons than a look at everybody gives", to_text(item.workload));
  }
  return {};
}

bool Simulation::pass() {
  look_again_.reset();
  bool whole_round = !round_.is_under_way();
  Plan plan = round_.slice(core_.view(now_), budget_);
  if (whole_round) {
    if (Violation violation = check_plan(plan)) wrong(*violation);
  }
  look_again_ = round_.look_again();
  auto identity = [&](const StartItem& item) {
    int64_t attempt = core_.state().workload(item.workload)->attempt_count + 1;
    return command::AttemptIdentity{.token = fmt::format("{}.{}", to_text(item.workload), attempt),
                                    .rendezvous_port = item.replicas.size() > 1 ? ++port_ : 0};
  };
  int64_t dropped = 0;
  for (Command& command : commands_of(plan, now_, identity)) {
    Result<Events> done = give({}, std::move(command.body));
    if (done) continue;
    ++dropped;
    // Nothing came between the plan and its commands, so that each must still hold.
    wrong("the core refuses what the scheduler planned: " + done.error().to_text());
  }
  command::EndPass end{.seen = plan.seen,
                       .starts = std::ssize(plan.starts),
                       .evictions = std::ssize(plan.evictions),
                       .dropped = dropped,
                       .waits = plan.waits};
  MOULIN_CHECK(give({}, std::move(end)));
  passed_ = core_.state().sequence;
  if (Violation violation = check_core(core_)) wrong("after a pass: " + *violation);
  return !plan.starts.empty() || !plan.evictions.empty() || !plan.complete;
}

void Simulation::settle() {
  for (int round = 0; round < kRoundsMax && violation_.empty(); ++round) {
    bool moved = deliver();
    moved = tick() || moved;
    if (core_.state().sequence != passed_) moved = pass() || moved;
    if (!moved) return;
  }
  if (violation_.empty()) wrong(fmt::format("nothing settles within {} rounds", kRoundsMax));
}

void Simulation::advance(Duration duration) {
  Instant end = now_ + duration;
  for (int stop = 0; stop < kStopsMax && violation_.empty(); ++stop) {
    settle();
    Instant next = end;
    if (std::optional<Instant> report = engine_.next()) next = std::min(next, std::max(now_, *report));
    if (std::optional<Instant> due = core_.agenda().next()) next = std::min(next, std::max(now_, *due));
    if (look_again_) next = std::min(next, std::max(now_, *look_again_));
    if (next == now_ && now_ == end) break;
    now_ = next;
    // Time alone may let something start.
    if (now_ == end || (look_again_ && *look_again_ <= now_)) passed_ = {};
  }
  settle();
}

void Simulation::restart() {
  State state;
  for (const Event& event : journal_) moulin::apply(state, event);
  if (encode(state) != encode(core_.state())) wrong("the journal does not give the state back");
  core_ = Core(std::move(state));
  round_.forget();
  command::BeginEpoch begin{.boot_id = "boot-1", .wall_offset = {}, .version = "sim", .simulated = true};
  MOULIN_CHECK(give({}, std::move(begin)));
}

}  // namespace moulin
