// An engine without processes: it hears what the core decided, and tells at a virtual
// time what a real engine would tell. Deterministic; one thread.
//
// What it does unless a rule says otherwise: a replica starts at once, and ends at once
// with exit code 0 when it is asked to. It honours the grace: what would end later than
// the grace allows is killed (signal 9) when the grace is over.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/event.h"
#include "model/state.h"

namespace moulin {

// How replicas behave.
struct EngineRule {
  bool starts = true;        // false: they never say that they have started
  Duration starts_after{};   // from the decision to the report
  bool ends = true;          // false: they are deaf to the signal and die with the grace
  Duration ends_after{};     // from the signal to the exit
  bool answers = true;       // false: nothing comes by itself, not even the kill
  bool checkpoints = false;  // one checkpoint right before the exit that was asked for
  Exit exit{.code = 0};      // of an end that was asked for
};

// Faults of the way from the engine to the core, in thousandths of all reports. A lost
// report comes again, when the engine is looked over, after `late_max`.
struct EngineFaults {
  int64_t doubled = 0;
  int64_t late = 0;
  int64_t lost = 0;
  Duration late_max = seconds(60);
};

class VirtualEngine {
 public:
  explicit VirtualEngine(uint64_t seed = 1) : rng_(seed) {}

  void set_rule(const EngineRule& rule) { rule_ = rule; }
  void set_rule(WorkloadId workload, const EngineRule& rule) { rules_[workload] = rule; }
  void set_faults(const EngineFaults& faults) { faults_ = faults; }
  const EngineRule& rule_of(WorkloadId workload) const;

  // The core applied `event`, and `after` is the state with it.
  void hear(const State& after, const Event& event);

  // Adds a report that no rule makes.
  void report(Instant at, EngineReport report);

  // Nothing is heard from the node until it speaks again; then everything comes at once.
  void silence(const NodeName& node) { silent_.insert(node); }
  void unsilence(const NodeName& node) { silent_.erase(node); }

  // When the next report comes; nothing when none is under way.
  std::optional<Instant> next() const;

  // The reports that are due at `now`, in order; they leave the engine.
  std::vector<EngineReport> take(const State& state, Instant now);

  size_t size() const { return due_.size(); }

 private:
  struct Order {
    Instant at{};
    int64_t number = 0;
    auto operator<=>(const Order&) const = default;
  };
  void start(const State& after, Instant now, const ReplicaKey& key);
  void end(const State& after, Instant now, const ReplicaKey& key, Duration grace);
  bool is_silent(const State& state, const EngineReport& report) const;

  Rng rng_;
  EngineRule rule_{};
  EngineFaults faults_{};
  std::map<WorkloadId, EngineRule> rules_{};
  std::set<NodeName> silent_{};
  std::map<Order, EngineReport> due_{};
  std::set<std::pair<ReplicaKey, bool>> heard_{};  // started (false) or asked to end (true)
  int64_t count_ = 0;
};

// The replica that a report is about.
const ReplicaKey& key_of(const EngineReport& report);

// nullptr when there is no such replica in a live attempt.
const Replica* find_replica(const State& state, const ReplicaKey& key);

}  // namespace moulin
