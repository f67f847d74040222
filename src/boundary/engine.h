// What runs workloads. Moulin decides; an engine starts, signals, stops, and reports.
//
// An engine is asked by intents, which are idempotent: an intent may come twice (after
// a restart the server repeats those whose effect it has not seen). It answers by
// reports, never by return values, because what it did may become known only later.
// Reports carry the identity they are about; the core drops stale ones.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"
#include "boundary/exec.h"
#include "model/grant.h"
#include "model/names.h"
#include "model/report.h"

namespace moulin {

// Limits that hold for a replica and all its children. 0: no limit.
struct ReplicaLimits {
  CpuMilli cpu{};
  Bytes memory{};
  int64_t tasks = 0;
  Bytes log{};  // kept per stream, the oldest is dropped
  bool operator==(const ReplicaLimits&) const = default;
};

// Everything an engine needs to start one replica. Secrets are not in here.
struct ReplicaLaunch {
  ReplicaKey key{};
  std::string token{};  // attempt token: proves on re-adoption that a process is ours
  Epoch epoch{};
  NodeName node{};
  std::string account{};                      // Unix account; empty: that of the server
  std::vector<std::string> argv{};            // no shell unless the user wrote a string
  std::string working_folder{};               // absolute
  std::map<std::string, std::string> environment{};  // complete: nothing is inherited but PATH, HOME, LANG
  std::vector<Grant> grants{};
  ReplicaLimits limits{};
  std::string checkpoint_file{};              // absolute; empty: none declared
  Duration grace{};                           // from the signal to the kill
  bool operator==(const ReplicaLaunch&) const = default;
};

// Why an engine is asked to end a replica; written to its flag file.
enum class EndReason { kPreempt, kPause, kStop, kKill };

// What an engine can do; the scheduler plans within it.
struct EngineAbilities {
  enum class Placement { kDevice, kNode, kAdmitOnly };
  Placement placement = Placement::kDevice;
  bool signals = true;
  bool logs = true;
  bool simulated = false;
};

// What the engine holds now, for reconciliation.
struct HeldReplica {
  ReplicaKey key{};
  std::string token{};
  bool exited = false;
};

// What an engine answers when it is asked what it holds. Absence proves something only
// where it was able to look.
struct Held {
  std::vector<HeldReplica> replicas{};
  // May be here, and could not be looked at just now: says nothing about them.
  std::vector<ReplicaKey> unsure{};
  bool complete = true;  // false: there may be replicas that are in neither list
};

// Thread-safe: the reactor calls, and reports come on the engine's own thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineAbilities abilities() const = 0;

  // Where reports go, before the first intent. Called on the engine's thread; must not block.
  virtual void on_report(std::function<void(EngineReport)> sink) = 0;

  virtual void start(ReplicaLaunch launch) = 0;
  // Signal, wait up to the grace, kill. kKill skips the first two. A later, stronger
  // reason replaces an earlier one (kill > stop > preempt > pause).
  virtual void end(ReplicaKey key, std::string token, EndReason reason, Duration grace) = 0;
  // Forget an exited replica: its report was made durable. Log files stay.
  virtual void release(ReplicaKey key, std::string token) = 0;
  // What runs or has exited and was not released, as of the last scan; waits for the first.
  virtual Held list() = 0;
  // Runs a command beside the program of a replica. Thread-safe. kNotFound: the engine does
  // not hold it; whether it runs is told by the channel. kUnavailable: it cannot be reached.
  virtual Result<std::unique_ptr<ExecChannel>> exec(const ReplicaKey& key, const std::string& token,
                                                    const ExecCommand& command) = 0;
  // Whether a process of this machine belongs to a replica of ours.
  virtual bool is_ours(int64_t pid) const = 0;
};

}  // namespace moulin
