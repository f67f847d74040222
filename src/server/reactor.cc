#include "server/reactor.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "core/plan_commands.h"
#include "server/recovery.h"

namespace moulin {

namespace {

constexpr std::chrono::milliseconds kDiskWait{10};
constexpr std::chrono::seconds kIdleWait{1};  // a tick looks for what is due at least so often

Error not_writable() {
  return {.code = Code::kUnavailable,
          .message = "the journal cannot be written; nothing was changed",
          .to_do = "free disk space or mend the data folder; Moulin goes on by itself"};
}

// Events that change what could start where.
bool wakes_scheduler(const EventBody& body) {
  return !std::holds_alternative<event::PassEnded>(body) && !std::holds_alternative<event::UsageRecorded>(body) &&
         !std::holds_alternative<event::ReplicaRan>(body) && !std::holds_alternative<event::StaleReported>(body) &&
         !std::holds_alternative<event::RequestRemembered>(body);
}

}  // namespace

// What is judged together and becomes durable together.
struct Reactor::Batch {
  std::vector<JournalRecord> records;
  std::vector<NumberedEvent> events;
  std::vector<Effect> effects;
  std::vector<std::pair<Answer, Result<Events>>> answers;
  std::vector<CommandBody> reports;  // to be judged again should this batch be lost
  PublishedView view;
  bool empty() const { return records.empty() && answers.empty(); }
};

Reactor::Reactor(ReactorWorld world, ReactorOptions options, Core core)
    : world_(std::move(world)),
      options_(std::move(options)),
      core_(std::move(core)),
      publisher_(std::make_shared<Published>(core_.state(), core_.index())) {}

Reactor::~Reactor() { stop(); }

void Reactor::start() {
  carry_out(world_.engine, standing_effects(core_.state(), options_.launch));
  thread_ = std::thread([this] { run(); });
}

void Reactor::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Reactor::submit(Actor actor, CommandBody body, Answer answer) {
  std::optional<Error> refusal;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) {
      refusal =
          Error{.code = Code::kUnavailable, .message = "the server is stopping", .to_do = "try again in a moment"};
    } else if (failed_) {
      refusal = not_writable();
    } else if (queue_.size() >= options_.queue_max) {
      ++stats_.refused_busy;
      refusal = Error{.code = Code::kTooMany, .message = "too many requests wait", .to_do = "try again in a second"};
    } else {
      queue_.push_back({std::move(actor), std::move(body), std::move(answer)});
    }
  }
  if (refusal)
    answer(*refusal);
  else
    changed_.notify_all();
}

void Reactor::report(CommandBody body) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({Actor{}, std::move(body), nullptr});
  }
  changed_.notify_all();
}

ReactorStats Reactor::stats() const {
  std::lock_guard lock(mutex_);
  ReactorStats stats = stats_;
  stats.queued = queue_.size();
  stats.writable = !failed_;
  return stats;
}

Instant Reactor::now() { return std::max(world_.clock.now(), core_.state().now); }

void Reactor::run() {
  std::deque<Item> taken;
  while (wait(taken)) {
    Batch batch;
    for (Item& item : taken) judge(std::move(item), batch);
    taken.clear();
    tick(batch);
    if (pass_wanted_) pass(batch);
    if (!batch.empty()) hand_over(std::move(batch));
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return in_flight_ == 0; });
}

// Fills `taken` with the next commands, none when only time has passed. False: stop.
bool Reactor::wait(std::deque<Item>& taken) {
  std::unique_lock lock(mutex_);
  auto wake = std::chrono::steady_clock::now() + kIdleWait;
  if (std::optional<Instant> due = core_.agenda().next()) {
    auto left = std::chrono::microseconds(std::max<int64_t>((*due - world_.clock.now()).us, 0));
    wake =
        std::min(wake, std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(left));
  }
  changed_.wait_until(lock, wake, [this] { return stopping_ || failed_ || pass_wanted_ || !queue_.empty(); });
  if (failed_) {
    lock.unlock();
    recover();
    lock.lock();
    if (failed_) return false;  // stopped before the disk came back
  }
  if (stopping_ && queue_.empty()) return false;
  size_t count = std::min(queue_.size(), options_.batch_max);
  for (size_t i = 0; i < count; ++i) {
    taken.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  stats_.commands += static_cast<int64_t>(count);
  return true;
}

void Reactor::judge(Item item, Batch& batch) {
  Command command{.actor = std::move(item.actor), .at = now(), .body = std::move(item.body)};
  Result<Events> result = execute(command, batch);
  if (item.answer) {
    batch.answers.emplace_back(std::move(item.answer), std::move(result));
  } else if (result) {
    batch.reports.push_back(std::move(command.body));
  } else {
    world_.log("a report was refused: " + result.error().to_text());
  }
}

// Judges, applies, and keeps what must become durable and what follows then.
Result<Events> Reactor::execute(const Command& command, Batch& batch) {
  Events events = TRY(decide({core_.state(), core_.index(), core_.agenda()}, command));
  for (const Event& event : events) {
    core_.apply(event);
    batch.records.push_back({.time = event.at,
                             .type = event_type(event.body),
                             .workload = event_workload(event.body),
                             .bytes = encode_event(event)});
    batch.events.push_back({core_.state().sequence, event});
    std::ranges::move(effects_of(core_.state(), event, options_.launch), std::back_inserter(batch.effects));
    pass_wanted_ = pass_wanted_ || wakes_scheduler(event.body);
  }
  return events;
}

void Reactor::tick(Batch& batch) {
  std::optional<Instant> due = core_.agenda().next();
  if (!due || *due > now()) return;
  Result<Events> ticked = execute({.actor = {}, .at = now(), .body = command::Tick{}}, batch);
  MOULIN_CHECK(ticked.has_value(), "a tick is never refused");
}

void Reactor::pass(Batch& batch) {
  pass_wanted_ = false;
  Instant begun = world_.clock.now();
  PassBudget budget = options_.pass;
  budget.skip = pass_skip_;
  Plan plan = make_plan(core_.view(now()), budget);
  pass_skip_ = plan.complete ? 0 : pass_skip_ + std::ssize(plan.waits);
  command::EndPass end{.seen = plan.seen, .starts = 0, .evictions = 0, .dropped = 0, .waits = std::move(plan.waits)};
  for (Command& command : commands_of(plan, now(), world_.identity_for)) {
    bool is_start = std::holds_alternative<command::Start>(command.body);
    if (!execute(command, batch))
      ++end.dropped;
    else
      ++(is_start ? end.starts : end.evictions);
  }
  // Items that were dropped are planned again, unless nothing else changed meanwhile.
  bool again = !plan.complete || (end.dropped > 0 && end.starts + end.evictions > 0);
  int64_t starts = end.starts;
  int64_t evictions = end.evictions;
  int64_t dropped = end.dropped;
  MOULIN_CHECK(execute({.actor = {}, .at = now(), .body = std::move(end)}, batch).has_value(), "the end of a pass");
  pass_wanted_ = again;

  std::lock_guard lock(mutex_);
  ++stats_.passes;
  stats_.starts += starts;
  stats_.evictions += evictions;
  stats_.dropped += dropped;
  stats_.pass_longest = std::max(stats_.pass_longest, world_.clock.now() - begun);
}

void Reactor::hand_over(Batch batch) {
  batch.view = std::make_shared<Published>(core_.state(), core_.index());
  auto shared = std::make_shared<Batch>(std::move(batch));
  {
    std::lock_guard lock(mutex_);
    ++in_flight_;
    stats_.events += static_cast<int64_t>(shared->events.size());
  }
  for (;;) {
    std::vector<JournalRecord> records = shared->records;
    Status queued = world_.committer.submit(
        std::move(records), [this, shared](const Result<Sequence>& durable) { committed(*shared, durable); });
    if (queued) return;
    std::unique_lock lock(mutex_);
    if (queued.error().code != Code::kTooMany) {
      changed_.wait(lock, [this] { return in_flight_ == 1; });  // after all batches before it
      lock.unlock();
      return committed(*shared, queued.error());
    }
    // The disk is slower than we are: wait for a place in its queue.
    changed_.wait_for(lock, kDiskWait);
  }
}

// In the order of the batches; on the committer's thread, or on ours when it refused.
void Reactor::committed(Batch& batch, const Result<Sequence>& durable) {
  if (durable) {
    publisher_.publish(batch.view);
    world_.events.publish(batch.events);
    carry_out(world_.engine, std::move(batch.effects));
  } else {
    fail(durable.error());
  }
  for (auto& [answer, result] : batch.answers) answer(durable ? result : Result<Events>(not_writable()));
  batch.view.reset();
  {
    std::lock_guard lock(mutex_);
    --in_flight_;
    if (!durable) std::ranges::move(batch.reports, std::back_inserter(not_durable_));
  }
  changed_.notify_all();
}

// Before anybody is told, so that whoever tries again at once is refused at once.
void Reactor::fail(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(failed_, true)) return;
  }
  world_.log("the journal cannot be written: " + error.to_text());
}

void Reactor::recover() {
  std::deque<Item> refused;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return in_flight_ == 0; });
    // Reports stay: they are facts. Clients are told now.
    std::deque<Item> kept;
    for (CommandBody& report : not_durable_) kept.push_back({Actor{}, std::move(report), nullptr});
    not_durable_.clear();
    for (Item& item : queue_) (item.answer ? refused : kept).push_back(std::move(item));
    queue_ = std::move(kept);
  }
  for (Item& item : refused) item.answer(not_writable());
  bool mended = rebuild() && wait_for_disk();
  std::lock_guard lock(mutex_);
  failed_ = !mended;
  pass_wanted_ = true;
  if (mended) world_.log("the journal can be written again");
}

bool Reactor::rebuild() {
  Result<Core> core = recover_core(world_.journal);
  if (!core) {
    world_.log("the state cannot be rebuilt: " + core.error().to_text());
    check_failed(__FILE__, __LINE__, "rebuild", "restart the server after mending the journal");
  }
  core_ = std::move(*core);
  return true;
}

// Until a probe write succeeds; false when stopped before.
bool Reactor::wait_for_disk() {
  const std::chrono::microseconds probe_every(options_.probe_every.us);
  for (;;) {
    auto outcome = std::make_shared<std::optional<bool>>();
    world_.committer.resume([this, outcome](const Status& status) {
      std::lock_guard lock(mutex_);
      *outcome = status.has_value();
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return outcome->has_value(); });
    if (**outcome) return true;
    if (stopping_ || changed_.wait_for(lock, probe_every, [this] { return stopping_; })) return false;
  }
}

}  // namespace moulin
