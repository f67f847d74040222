// The core under a virtual clock with a virtual engine: what the server's reactor does,
// without threads, sockets and files. Every event is checked (invariants.h).
//
// The order of things is always the same: commands that are given now, then what the
// engine reports by now, then what is due by now, then passes of the scheduler until one
// changes nothing. So a run is a function of what is given to it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/core.h"
#include "core/plan_commands.h"
#include "scheduler/round.h"
#include "sim/invariants.h"
#include "sim/virtual_engine.h"

namespace moulin {

// How much is checked after each event. check_event() and check_state() always are.
enum class Rebuilds {
  kEveryEvent,  // index and agenda against a rebuild
  kEveryPass,   // the same, when the state has settled
};

class Simulation {
 public:
  struct Settings {
    uint64_t seed = 1;
    Rebuilds rebuilds = Rebuilds::kEveryEvent;
    PassBudget budget{};  // of one pass; a small one makes passes go on where they stopped
  };
  // Begins epoch 1: the organisation and the project `default` exist, and nothing else.
  explicit Simulation(const Settings& settings);

  // Judges a command of `user` (empty: Moulin itself) at the present instant and applies
  // what follows. Nothing else happens before settle().
  Result<Events> give(const UserName& user, CommandBody body);

  // Everything that follows at this instant, until nothing more does.
  void settle();

  // Virtual time goes on by `duration`, stopping wherever something is due.
  void advance(Duration duration);

  // A new life of the server: a new epoch, and the state rebuilt from the journal.
  void restart();

  const Core& core() const { return core_; }
  const State& state() const { return core_.state(); }
  Instant now() const { return now_; }
  VirtualEngine& engine() { return engine_; }

  // Every event so far, in order: the journal.
  const std::vector<Event>& journal() const { return journal_; }

  // The first thing that was wrong; empty while all is well.
  const std::string& violation() const { return violation_; }

  // Ids as the shell would make them: growing, never 0.
  WorkloadId new_workload_id() { return {++ids_}; }
  TokenId new_token_id() { return {++ids_}; }

  // One pass of the scheduler; true when it changed anything or has to go on.
  bool pass();

 private:
  void apply(const Event& event);
  void wrong(std::string what);
  bool deliver();
  bool tick();
  Violation check_plan(const Plan& plan) const;

  Core core_;
  Instant now_{};
  VirtualEngine engine_;
  Rebuilds rebuilds_;
  PassBudget budget_;
  Round round_;
  std::vector<Event> journal_;
  std::string violation_;
  Sequence passed_{};  // the state that the last pass left
  std::optional<Instant> look_again_{};
  uint64_t ids_ = 0;
  int32_t port_ = 20'000;
};

}  // namespace moulin
