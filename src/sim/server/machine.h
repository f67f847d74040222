// The machine under the server: processes and supervisors that outlive it, and nodes that
// fall silent. It does what engine/local does, by the same rules, at virtual times.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "boundary/engine.h"
#include "model/state.h"
#include "sim/server/faults.h"
#include "sim/server/timeline.h"

namespace moulin::sim {

class Machine {
 public:
  using Sink = std::function<void(EngineReport)>;

  Machine(Timeline& timeline, Faults& faults, uint64_t seed) : timeline_(timeline), faults_(faults), rng_(seed) {}

  // A server has come: it is told of everything that is held. Before its first intent.
  void connect(Sink sink);
  // It has gone: reports go nowhere.
  void disconnect();

  void start(ReplicaLaunch launch);
  void end(const ReplicaKey& key, const std::string& token, EndReason reason, Duration grace);
  void release(const ReplicaKey& key, const std::string& token);
  std::vector<HeldReplica> list() const;

  // Everything that ran is gone without a status.
  void reboot();
  // Nothing is heard from the node until it speaks again.
  void silence(const NodeName& node) { silent_.insert(node); }
  void unsilence(const NodeName& node);
  bool is_silent(const NodeName& node) const { return silent_.contains(node); }
  // It is certain that nothing runs there any more.
  void fence(const NodeName& node);
  // The supervisor of one replica dies with it.
  void vanish_one();
  // One of those that run is as if it had never been: nothing will be told of it.
  void forget_one(const State& believed);
  // A process with our mark that no server started, as a copied data folder brings.
  void bring_stranger();

  // In a calm every new process ends soon and does what it is told.
  void set(Weather weather) { weather_ = weather; }

  struct Process {
    ReplicaLaunch launch{};
    bool started = false;
    bool exited = false;
    Exit exit{};
    EndReason end_reason = EndReason::kPause;
    bool end_asked = false;
    int64_t life = 0;  // grows with everything that makes scheduled ends void
  };
  const std::map<ReplicaKey, Process>& processes() const { return processes_; }

 private:
  void run(const ReplicaKey& key);
  void live(const ReplicaKey& key, const std::string& token);
  void exit(Process& process, Exit exit);
  void tell(const Process& process, EngineReport report);
  void tell_all(const Process& process);
  void deliver(const NodeName& node, int64_t connection, const EngineReport& report);
  Process* find(const ReplicaKey& key, const std::string& token);
  Exit random_exit();

  Timeline& timeline_;
  Faults& faults_;
  Rng rng_;
  Sink sink_;
  Weather weather_ = Weather::kWild;
  int64_t connection_ = 0;
  bool is_calm() const { return weather_ == Weather::kCalm; }

  std::map<ReplicaKey, Process> processes_;
  std::set<NodeName> silent_;
  int64_t strangers_ = 0;
};

}  // namespace moulin::sim
