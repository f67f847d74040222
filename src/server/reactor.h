// The one thread that owns the state.
//
// Commands come in from any thread, are judged in order in batches, and are answered
// after the batch is durable. While one batch commits the next is judged. After each
// batch the scheduler makes a pass, within a budget, so that no command waits long for
// it; its items are commands like any other.
//
// When the journal cannot write, commands are refused, the state is rebuilt from the
// journal, and a probe write is tried every second. Reports wait, also those that were
// judged and did not become durable: they are judged again. Reads go on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "boundary/clock.h"
#include "boundary/engine.h"
#include "boundary/journal.h"
#include "core/core.h"
#include "journal/committer.h"
#include "server/effects.h"
#include "server/event_hub.h"
#include "server/published.h"

namespace moulin {

struct ReactorOptions {
  size_t queue_max = 20'000;          // commands waiting; more are refused with kTooMany
  size_t batch_max = 256;             // commands judged before they are handed to the journal
  PassBudget pass{};                  // of one pass
  Duration probe_every = seconds(1);  // while the journal cannot write; above 0
  LaunchSettings launch{};
};

// What the reactor lives with; all must outlive it.
struct ReactorWorld {
  Journal& journal;
  Committer& committer;
  Clock& clock;
  Engine& engine;
  EventHub& events;
  std::function<command::AttemptIdentity(const StartItem&)> identity_for;
  std::function<void(std::string_view)> log;
};

struct ReactorStats {
  int64_t commands = 0;
  int64_t refused_busy = 0;
  int64_t events = 0;
  int64_t passes = 0;
  int64_t starts = 0;
  int64_t evictions = 0;
  int64_t dropped = 0;  // items of plans that no longer held
  Duration pass_longest{};
  size_t queued = 0;
  bool writable = true;
};

class Reactor {
 public:
  // After the events are durable, or with the error: once, in the order of the commands,
  // on the committer's thread or the reactor's; must be quick.
  using Answer = std::move_only_function<void(const Result<Events>&)>;

  // `core` is the state of the journal's last record.
  Reactor(ReactorWorld world, ReactorOptions options, Core core);
  ~Reactor();  // stop()
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Starts the thread and carries out what the state asks the engine for.
  void start();
  // Ends after what is queued; workloads go on running.
  void stop();

  // Thread-safe. Refusals (queue full, journal not writable, stopped) are answered at once.
  void submit(Actor actor, CommandBody body, Answer answer);
  // From the engine, from devices, from timers: never refused.
  void report(CommandBody body);

  // Thread-safe; the state after the last durable batch.
  PublishedView view() const { return publisher_.newest(); }
  ReactorStats stats() const;

 private:
  struct Item {
    Actor actor;
    CommandBody body;
    Answer answer;  // empty: nobody waits
  };
  struct Batch;

  void run();
  bool wait(std::deque<Item>& taken);
  void judge(Item item, Batch& batch);
  Result<Events> execute(const Command& command, Batch& batch);
  void tick(Batch& batch);
  void pass(Batch& batch);
  void hand_over(Batch batch);
  void committed(Batch& batch, const Result<Sequence>& durable);
  void fail(const Error& error);
  void recover();
  bool rebuild();
  bool wait_for_disk();
  Instant now();

  ReactorWorld world_;
  const ReactorOptions options_;
  Core core_;
  Publisher publisher_;
  bool pass_wanted_ = true;
  int64_t pass_skip_ = 0;  // waiting workloads that an incomplete pass has examined

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::vector<CommandBody> not_durable_;  // reports of batches that could not be written, in order
  ReactorStats stats_;
  int64_t in_flight_ = 0;  // batches handed over and not yet done
  bool failed_ = false;    // a batch could not be written
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace moulin
