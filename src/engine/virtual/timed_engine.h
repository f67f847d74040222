// `moulin up --engine virtual`: an engine whose replicas only take time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "boundary/clock.h"
#include "boundary/engine.h"
#include "engine/virtual/timed_replicas.h"

namespace moulin {

class TimedEngine final : public Engine {
 public:
  TimedEngine() = default;
  // Replicas that run are forgotten.
  ~TimedEngine() override;

  EngineAbilities abilities() const override { return {.logs = false, .simulated = true}; }
  void on_report(std::function<void(EngineReport)> sink) override;  // starts the thread
  void start(ReplicaLaunch launch) override;
  void end(ReplicaKey key, std::string token, EndReason reason, Duration grace) override;
  void release(ReplicaKey key, std::string token) override;
  Held list() override;
  bool is_ours(int64_t) const override { return false; }
  Result<std::unique_ptr<ExecChannel>> exec(const ReplicaKey&, const std::string&, const ExecCommand&) override {
    return Error{.code = Code::kRefused,
                 .message = "the engine is virtual: no program runs, and no command can run beside it"};
  }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  TimedReplicas replicas_;
  std::function<void(EngineReport)> sink_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace moulin
