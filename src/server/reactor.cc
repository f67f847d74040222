#include "server/reactor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/plan_commands.h"
#include "journal/limits.h"
#include "server/reactor_batch.h"

namespace moulin {

namespace {

constexpr int64_t kPauses = 3;  // after a pass, so many times its length
constexpr Duration kPauseMost = milliseconds(100);

// Events that change what could start where.
bool wakes_scheduler(const EventBody& body) {
  return !std::holds_alternative<event::PassEnded>(body) && !std::holds_alternative<event::UsageRecorded>(body) &&
         !std::holds_alternative<event::ReplicaRan>(body) && !std::holds_alternative<event::StaleReported>(body) &&
         !std::holds_alternative<event::RequestRemembered>(body) && !std::holds_alternative<event::ExecBegan>(body);
}

std::vector<JournalRecord> records_of(const Events& events) {
  std::vector<JournalRecord> records;
  records.reserve(events.size());
  for (const Event& event : events) {
    records.push_back({.time = event.at,
                       .type = event_type(event.body),
                       .workload = event_workload(event.body),
                       .bytes = encode_event(event)});
  }
  return records;
}

}  // namespace

Reactor::Reactor(ReactorWorld world, ReactorOptions options, Core core)
    : world_(std::move(world)),
      options_(std::move(options)),
      core_(std::move(core)),
      publisher_(std::make_shared<Published>(core_.state(), core_.index())) {}

Reactor::~Reactor() { stop(); }

void Reactor::begin() { carry_out(world_.engine, standing_effects(core_.state(), options_.launch)); }

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
      queue_.add({std::move(actor), std::move(body), std::move(answer)});
    }
  }
  if (refusal)
    answer(*refusal);
  else
    changed();
}

void Reactor::report(CommandBody body) {
  {
    std::lock_guard lock(mutex_);
    queue_.add_report(std::move(body));
  }
  changed();
}

ReactorStats Reactor::stats() const {
  std::lock_guard lock(mutex_);
  ReactorStats stats = stats_;
  stats.queued = queue_.size();
  stats.writable = !failed_;
  return stats;
}

Instant Reactor::now() { return std::max(world_.clock.now(), core_.state().now); }

bool Reactor::is_stopping() const {
  std::lock_guard lock(mutex_);
  return stopping_;
}

bool Reactor::is_failed() const {
  std::lock_guard lock(mutex_);
  return failed_;
}

ReactorTurn Reactor::turn() {
  ReactorTurn turn;
  {
    std::lock_guard lock(mutex_);
    turn.changes = changes_;
  }
  if (offered_) {
    turn.then = offer() ? ReactorTurn::Then::kAgain : ReactorTurn::Then::kWait;
    return turn;
  }
  return is_failed() ? mend(turn) : judge_next(turn);
}

ReactorTurn Reactor::judge_next(ReactorTurn turn) {
  std::deque<QueuedCommand> taken;
  bool over = false;
  {
    std::lock_guard lock(mutex_);
    taken = queue_.take(options_.batch_max);
    stats_.commands += static_cast<int64_t>(taken.size());
    over = stopping_ && taken.empty();
    if (over) turn.then = in_flight_ == 0 ? ReactorTurn::Then::kOver : ReactorTurn::Then::kWait;
  }
  if (over) return turn;
  bool worked = !taken.empty();
  Batch batch;
  for (QueuedCommand& item : taken) judge(std::move(item), batch);
  worked = tick(batch) || worked;
  if (look_again_ && *look_again_ <= now()) {
    look_again_.reset();
    pass_wanted_ = true;
  }
  if (pass_wanted_ && world_.clock.now() >= pass_from_) {
    pass(batch);
    worked = true;
  }
  if (!batch.empty()) hand_over(std::move(batch));
  turn.then = worked ? ReactorTurn::Then::kAgain : ReactorTurn::Then::kWait;
  turn.until = core_.agenda().next();
  if (look_again_) turn.until = std::min(turn.until.value_or(*look_again_), *look_again_);
  if (pass_wanted_) turn.until = std::min(turn.until.value_or(pass_from_), pass_from_);
  return turn;
}

void Reactor::judge(QueuedCommand item, Batch& batch) {
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
  std::vector<JournalRecord> records = records_of(events);
  TRY(check_sizes(records));  // before anything is applied: what the journal cannot hold does not happen
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    core_.apply(event);
    round_.follow(core_.state(), event);
    batch.records.push_back(std::move(records[i]));
    batch.events.push_back({core_.state().sequence, event});
    std::ranges::move(effects_of(core_.state(), event, options_.launch), std::back_inserter(batch.effects));
    pass_wanted_ = pass_wanted_ || wakes_scheduler(event.body);
  }
  return events;
}

// False: nothing is due.
bool Reactor::tick(Batch& batch) {
  std::optional<Instant> due = core_.agenda().next();
  if (!due || *due > now()) return false;
  Result<Events> ticked = execute({.actor = {}, .at = now(), .body = command::Tick{}}, batch);
  MOULIN_CHECK(ticked.has_value(), "a tick is never refused");
  return true;
}

void Reactor::pass(Batch& batch) {
  pass_wanted_ = false;
  Instant begun = world_.clock.now();
  Plan plan = round_.slice(core_.view(now()), options_.pass);
  if (auto again = round_.look_again()) look_again_ = std::min(look_again_.value_or(*again), *again);
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
  Duration took = world_.clock.now() - begun;
  pass_from_ = world_.clock.now() + std::min(Duration{took.us * kPauses}, kPauseMost);

  std::lock_guard lock(mutex_);
  ++stats_.passes;
  stats_.starts += starts;
  stats_.evictions += evictions;
  stats_.dropped += dropped;
  stats_.pass_longest = std::max(stats_.pass_longest, took);
}

}  // namespace moulin
