// The one thread that owns the state.
//
// Commands come in from any thread, are judged in order in batches, and are answered
// after the batch is durable. While one batch commits the next is judged. After each
// batch the scheduler makes a pass, within a budget, so that no command waits long for
// it; its items are commands like any other. After a pass it pauses for a few times as
// long as the pass took, so that a long queue leaves most of the time to commands.
//
// When the journal cannot write, commands are refused, the state is rebuilt from the
// journal, and a probe write is tried every second. Reports wait, also those that were
// judged and did not become durable: they are judged again. Reads go on.
//
// A disk that neither writes nor fails holds up what waits for it and nothing else: as
// many batches as the committer takes and one more are judged, then commands queue up to
// `queue_max` and are refused after that, and reads show the last durable batch.
//
// The work is done in turns that never block. start() gives them a thread; a simulation
// calls begin() and then turn() itself.
#pragma once

#include <condition_variable>
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
#include "scheduler/round.h"
#include "server/command_queue.h"
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

// What a turn of the reactor left.
struct ReactorTurn {
  enum class Then {
    kAgain,  // there is more to do now
    kWait,   // nothing to do before `until`, or before something comes from outside
    kOver,   // it was stopped, and everything is done
  };
  Then then = Then::kAgain;
  std::optional<Instant> until{};  // with kWait; empty: no time is known
  uint64_t changes = 0;            // what had come from outside when the turn began
};

class Reactor {
 public:
  // After the events are durable, or with the error: once, in the order of the commands,
  // on the committer's thread or the reactor's; must be quick.
  using Answer = CommandAnswer;

  // `core` is the state of the journal's last record.
  Reactor(ReactorWorld world, ReactorOptions options, Core core);
  ~Reactor();  // stop()
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // begin(), and a thread that takes the turns.
  void start();
  // Ends after what is queued, as soon as the thread has taken the turns for it;
  // workloads go on running.
  void stop();

  // Carries out what the state asks the engine for. Once, before the first turn.
  void begin();
  // Judges one batch, or goes one step on towards a journal that can be written again.
  // Waits for nothing but reads of the journal. One thread only.
  ReactorTurn turn();

  // Thread-safe. Refusals (queue full, journal not writable, stopped) are answered at once.
  void submit(Actor actor, CommandBody body, Answer answer);
  // From the engine, from devices, from timers: never refused. A report that waits may be
  // replaced by a newer one about the same thing (command_queue.h).
  void report(CommandBody body);

  // Thread-safe; the state after the last durable batch.
  PublishedView view() const { return publisher_.newest(); }
  ReactorStats stats() const;

 private:
  struct Batch;
  // The way back from a journal that could not be written.
  enum class Mending {
    kDraining,  // until every batch has been told
    kAsking,    // a probe is wanted
    kProbing,   // one is under way
    kResting,   // it failed; the next one is not yet due
  };

  void run();
  ReactorTurn judge_next(ReactorTurn turn);
  void judge(QueuedCommand item, Batch& batch);
  Result<Events> execute(const Command& command, Batch& batch);
  bool tick(Batch& batch);
  void pass(Batch& batch);
  void hand_over(Batch batch);
  bool offer();
  void committed(Batch& batch, const Result<Sequence>& durable);
  void fail(const Error& error);
  ReactorTurn mend(ReactorTurn turn);
  bool drain();
  void rebuild();
  void ask_probe();
  bool read_probe();
  void changed();
  bool is_stopping() const;
  bool is_failed() const;
  Instant now();

  ReactorWorld world_;
  const ReactorOptions options_;
  Core core_;
  Publisher publisher_;
  bool pass_wanted_ = true;
  Instant pass_from_{};                  // no pass before
  std::optional<Instant> look_again_{};  // a pass then, whatever happens
  Round round_;

  std::shared_ptr<Batch> offered_;  // judged, and the committer had no place for it
  std::optional<Error> refused_;    // why it will never take it
  Mending mending_ = Mending::kDraining;
  Instant probe_at_{};  // when resting

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  CommandQueue queue_;
  std::vector<CommandBody> not_durable_;  // reports of batches that could not be written, in order
  ReactorStats stats_;
  uint64_t changes_ = 0;        // grows with everything that a turn may have waited for
  int64_t in_flight_ = 0;       // batches judged and not yet done
  std::optional<bool> probed_;  // the outcome of the probe
  bool failed_ = false;         // a batch could not be written
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace moulin
