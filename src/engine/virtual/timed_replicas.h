// Replicas as entries in a table: each runs for as long as its launch says.
//
// A launch says so in its environment, else by being a `sleep`:
//   VIRTUAL_DURATION   "90s": how long the program would take; default: what a
//                             command `sleep N` says, else a minute
//   VIRTUAL_EXIT       0 to 255: its exit status; default 0
//   VIRTUAL_ACTIVITY   0 to 100: percent of its share that works; default 100
// A value that cannot be read ends the replica at once with an error that names
// it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "boundary/engine.h"

namespace moulin {

inline constexpr Duration kVirtualDuration = minutes(1);  // of a program that does not say
inline constexpr Duration kVirtualUsageEvery = minutes(1);

// What a launch says about its program. kInvalid names the variable.
struct VirtualProgram {
  Duration duration = kVirtualDuration;
  int32_t exit = 0;
  int64_t activity_percent = 100;
};
Result<VirtualProgram> virtual_program(const ReplicaLaunch& launch);

// One thread. Times never go back. Each intent may come twice.
class TimedReplicas {
 public:
  void start(Instant now, const ReplicaLaunch& launch);
  // A program dies of the signal at once. Unknown replicas are left alone.
  void end(Instant now, const ReplicaKey& key, const std::string& token, EndReason reason);
  void release(const ReplicaKey& key, const std::string& token);

  // What is to be reported by `now`, in order of time; each is given once.
  std::vector<EngineReport> take(Instant now);
  // When take() has something; nothing while nothing runs.
  std::optional<Instant> next() const;
  std::vector<HeldReplica> list() const;

 private:
  struct Replica {
    std::string token;
    Instant started{};
    VirtualProgram program{};
    Share share{};
    Exit exit{};                    // how it ends, or ended
    std::optional<Instant> ends{};  // nothing once it has exited
  };
  Usage usage_at(const Replica& replica, Instant now) const;
  void schedule(const ReplicaKey& key, Instant at) { due_.insert({at, key}); }

  std::map<ReplicaKey, Replica> replicas_;
  std::set<std::pair<Instant, ReplicaKey>> due_;  // ends and usage; stale entries are passed over
  std::vector<EngineReport> started_;
};

}  // namespace moulin
