// How batches become durable, and the way back when they could not.
#include <algorithm>
#include <iterator>
#include <utility>

#include "server/reactor_batch.h"
#include "server/recovery.h"

namespace moulin {

void Reactor::hand_over(Batch batch) {
  batch.view = std::make_shared<Published>(core_.state(), core_.index());
  {
    std::lock_guard lock(mutex_);
    ++in_flight_;
    stats_.events += static_cast<int64_t>(batch.events.size());
  }
  offered_ = std::make_shared<Batch>(std::move(batch));
  offer();
}

// False: the disk is slower than we are, or batches before this one are still under way.
bool Reactor::offer() {
  if (!refused_) {
    std::vector<JournalRecord> records = offered_->records;
    Status queued = world_.committer.submit(
        std::move(records), [this, batch = offered_](const Result<Sequence>& durable) { committed(*batch, durable); });
    if (queued) {
      offered_.reset();
      return true;
    }
    if (queued.error().code == Code::kTooMany) return false;
    refused_ = queued.error();
  }
  {
    std::lock_guard lock(mutex_);
    if (in_flight_ != 1) return false;  // answers keep their order
  }
  std::shared_ptr<Batch> batch = std::exchange(offered_, nullptr);
  Error refusal = *std::exchange(refused_, std::nullopt);
  committed(*batch, refusal);
  return true;
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
  changed();
}

// Before anybody is told, so that whoever tries again at once is refused at once.
void Reactor::fail(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(failed_, true)) return;
  }
  world_.log("the journal cannot be written: " + error.to_text());
}

ReactorTurn Reactor::mend(ReactorTurn turn) {
  turn.then = ReactorTurn::Then::kAgain;
  switch (mending_) {
    case Mending::kDraining:
      if (!drain()) break;
      rebuild();
      mending_ = Mending::kAsking;
      return turn;
    case Mending::kAsking:
      mending_ = Mending::kProbing;
      ask_probe();
      return turn;
    case Mending::kProbing:
      if (!read_probe()) break;
      return turn;
    case Mending::kResting:
      if (is_stopping()) {
        turn.then = ReactorTurn::Then::kOver;
        return turn;
      }
      turn.until = probe_at_;
      if (world_.clock.now() < probe_at_) break;
      mending_ = Mending::kAsking;
      return turn;
  }
  turn.then = ReactorTurn::Then::kWait;
  return turn;
}

// False while batches are under way. Clients are told now; reports stay: they are facts.
bool Reactor::drain() {
  std::deque<QueuedCommand> refused;
  {
    std::lock_guard lock(mutex_);
    if (in_flight_ != 0) return false;
    refused = queue_.take_commands(std::exchange(not_durable_, {}));
  }
  for (QueuedCommand& item : refused) item.answer(not_writable());
  return true;
}

void Reactor::rebuild() {
  Result<Core> core = recover_core(world_.journal);
  if (!core) {
    world_.log("the state cannot be rebuilt: " + core.error().to_text());
    check_failed(__FILE__, __LINE__, "rebuild", "restart the server after mending the journal");
  }
  core_ = std::move(*core);
  round_.forget();
}

void Reactor::ask_probe() {
  {
    std::lock_guard lock(mutex_);
    probed_.reset();
  }
  world_.committer.resume([this](const Status& status) {
    {
      std::lock_guard lock(mutex_);
      probed_ = status.has_value();
    }
    changed();
  });
}

// False while the probe is under way.
bool Reactor::read_probe() {
  {
    std::lock_guard lock(mutex_);
    if (!probed_) return false;
    if (*probed_) failed_ = false;
  }
  if (is_failed()) {
    mending_ = Mending::kResting;
    probe_at_ = world_.clock.now() + options_.probe_every;
    return true;
  }
  mending_ = Mending::kDraining;
  pass_wanted_ = true;
  world_.log("the journal can be written again");
  return true;
}

}  // namespace moulin
