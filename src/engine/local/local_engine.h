// Runs replicas as processes of this machine, each under a shim that outlives us.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "boundary/engine.h"
#include "engine/local/activity.h"
#include "engine/local/environment.h"
#include "engine/local/installation.h"
#include "shim/containment.h"
#include "shim/fd.h"

namespace moulin {

class AttemptStore;
class ReplicaKeeper;

struct LocalEngineOptions {
  std::string data_folder;  // absolute; must exist; attempts live in its folder `attempts`
  // What to run as a shim; the folder of the attempt is added.
  std::vector<std::string> shim_command = {"/proc/self/exe", "shim"};
  Installation installation{};
  InheritedEnvironment inherited{};  // PATH, HOME and LANG of the server
  Containment containment{};         // of probe_containment()
  Duration usage_interval = seconds(60);  // between usage reports of a replica; 1 s to 1 h
  Duration scan_interval = seconds(10);   // between searches for strangers
  // Who measures GPU activity; DeclaredActivity when empty.
  std::shared_ptr<ActivitySource> activity{};
  bool simulated = false;  // only said in abilities()
  // Told what whoever runs the server should know; on the engine's thread.
  std::function<void(const std::string&)> warn{};
};

// Destruction stops the thread; replicas and shims go on, and the next engine on the
// same data folder takes them over.
class LocalEngine : public Engine {
 public:
  // kNotFound, kUnavailable: the data folder cannot be used. Nobody else may use it; the
  // caller holds the lock on it.
  static Result<std::unique_ptr<LocalEngine>> open(LocalEngineOptions options);
  ~LocalEngine() override;

  EngineAbilities abilities() const override;
  // Starts the thread and the first scan. Call once, before all below.
  void on_report(std::function<void(EngineReport)> sink) override;
  void start(ReplicaLaunch launch) override;
  void end(ReplicaKey key, std::string token, EndReason reason, Duration grace) override;
  void release(ReplicaKey key, std::string token) override;
  // Waits for the first scan.
  Held list() override;

  Result<std::unique_ptr<ExecChannel>> exec(const ReplicaKey& key, const std::string& token,
                                            const ExecCommand& command) override;

  // Does this process belong to a replica of ours? Looks at its ancestors, at most
  // kAncestorsMax. Thread-safe.
  bool is_ours(int64_t pid) const override;
  static constexpr int kAncestorsMax = 256;

 private:
  struct StartIntent { ReplicaLaunch launch; };
  struct EndIntent { ReplicaKey key; std::string token; EndReason reason; Duration grace; };
  struct ReleaseIntent { ReplicaKey key; std::string token; };
  using Intent = std::variant<StartIntent, EndIntent, ReleaseIntent>;

  LocalEngine(LocalEngineOptions options, std::unique_ptr<AttemptStore> store);
  void add(Intent intent);
  void wake() const;
  void live();
  bool take_intents();
  void publish();

  LocalEngineOptions options_;
  std::unique_ptr<AttemptStore> store_;    // until the thread starts
  std::unique_ptr<ReplicaKeeper> keeper_;  // the thread's own
  int64_t published_ = -1;                 // the thread's own: version of held_
  Fd bell_;                                // eventfd
  mutable std::mutex mutex_;
  std::condition_variable scanned_;
  std::vector<Intent> intents_;            // guarded by mutex_, as are those below
  bool stop_ = false;
  bool has_scanned_ = false;
  Held held_;
  std::vector<int64_t> shim_pids_;
  std::thread thread_;
};

}  // namespace moulin
