// All that the local engine does with replicas, on its one thread: start shims, follow
// their states, tell reports, adopt what is there, end what is left.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boundary/engine.h"
#include "engine/local/activity.h"
#include "engine/local/attempt_records.h"
#include "engine/local/attempt_store.h"
#include "engine/local/environment.h"
#include "engine/local/held_shim.h"
#include "engine/local/installation.h"
#include "engine/local/shim_process.h"
#include "shim/containment.h"

namespace moulin {

struct KeeperSettings {
  std::vector<std::string> shim_command;
  Installation installation{};
  InheritedEnvironment inherited;
  Containment containment;
  Duration usage_interval = seconds(60);
  std::shared_ptr<ActivitySource> activity;
  std::function<void(const std::string&)> warn{};  // may be empty
};

// Not thread-safe. Never blocks for longer than a few small files take to write.
class ReplicaKeeper {
 public:
  using Sink = std::function<void(EngineReport)>;
  ReplicaKeeper(AttemptStore store, KeeperSettings settings, Sink sink);
  ReplicaKeeper(const ReplicaKeeper&) = delete;
  ReplicaKeeper& operator=(const ReplicaKeeper&) = delete;

  void start(const ReplicaLaunch& launch);
  void end(const ReplicaKey& key, const std::string& token, const EndOrder& order);
  void release(const ReplicaKey& key, const std::string& token);

  // Looks for replicas that we do not hold. At the first scan they are taken over; later
  // ones are also told as strangers. What cannot be looked at is looked at again by the next.
  enum class Scan { kFirst, kLater };
  void scan(Scan scan);

  // Readable when serve() has something to do; for an outer poll.
  int descriptor() const { return epoll_.number(); }
  void serve();
  // Connects again, ends leftovers. Milliseconds until it wants to be called again; -1: never.
  int on_time(Instant now);

  // Grows whenever held() or shim_pids() may have changed.
  int64_t version() const { return version_; }
  Held held() const;
  // Numbers of the shims that are ours, as far as known.
  std::vector<int64_t> shim_pids() const;

  // Between tries to get a link to a shim that lives: doubles with each that failed.
  static constexpr Duration kReconnectMin = milliseconds(50);
  static constexpr Duration kReconnectMax = seconds(30);
  static Duration reconnect_pause(int failed_tries);
  static constexpr Duration kLockInterval = seconds(1);  // between looks whether it still lives
  static constexpr int kSilentTriesTold = 6;             // without a reason: then we say so

 private:
  // Starting and adopting (replica_start.cc).
  Status start_new(const ReplicaLaunch& launch);
  enum class Found { kNothing, kOurs };
  bool is_foreign(const Fd& folder, const EngineRecord& record, LockState lock) const;
  Result<Found> look_at_old(const ReplicaLaunch& launch);
  Status write_files(const ReplicaLaunch& launch, const Fd& folder) const;
  EngineRecord engine_record(const ReplicaLaunch& launch) const;
  ShimLaunch shim_launch(const ReplicaLaunch& launch) const;
  HeldShim& hold(const ReplicaKey& key, EngineRecord record, Fd folder);
  Status adopt(const ReplicaKey& key);
  void connect(HeldShim& held, Instant now);
  void link(HeldShim& held, Fd socket);
  void unlink(HeldShim& held);

  // Following (replica_keeper.cc).
  void serve_link(HeldShim& held);
  void take(HeldShim& held, ShimState state);
  void tell_news(HeldShim& held);
  void tell_again(HeldShim& held);
  void tell_exit(HeldShim& held, Exit exit);
  void shim_is_gone(HeldShim& held);
  void end_leftovers(HeldShim& held, Instant now);
  void retry(HeldShim& held, Instant now);
  void order(HeldShim& held, const std::string& token, const EndOrder& order);
  void tell_locked_out(HeldShim& held, const std::string& reason);
  void warn(const std::string& text) const;
  void reap_children();
  HeldShim* find(const ReplicaKey& key);

  // Whoever asked for the end of a replica that could not be looked at still waits.
  struct AskedEnd {
    std::string token;
    EndOrder order;
  };

  AttemptStore store_;
  KeeperSettings settings_;
  Sink sink_;
  Fd epoll_;
  std::map<ReplicaKey, HeldShim> held_;
  std::map<int, ReplicaKey> links_;        // by descriptor
  std::map<int, SpawnedShim> children_;    // by descriptor of the process, until reaped
  std::map<ReplicaKey, int64_t> pids_;     // of shims
  std::map<ReplicaKey, std::optional<AskedEnd>> unsure_;  // may be here; see Held
  bool complete_ = false;                                 // the last scan saw the whole list
  int64_t version_ = 0;
};

}  // namespace moulin
