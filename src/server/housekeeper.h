// What a server does from time to time, on a thread of its own: compares its state with
// the engine, follows the wall clock, saves snapshots. A simulation takes the turns itself.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "boundary/clock.h"
#include "boundary/engine.h"
#include "boundary/journal.h"
#include "server/reactor.h"

namespace moulin {

struct HousekeeperOptions {
  Duration reconcile_every = seconds(15);
  Duration clock_every = seconds(60);
  Duration clock_step_min = seconds(1);  // smaller moves of the wall clock are ignored
  int64_t snapshot_events = 100'000;     // a snapshot after so many events
};

class Housekeeper {
 public:
  // All must outlive it.
  Housekeeper(Reactor& reactor, Engine& engine, Journal& journal, Clock& clock, HousekeeperOptions options,
              std::function<void(std::string_view)> log);
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  // The thread that takes a turn every second. Once.
  void start();
  // Does what is due; the first time a comparison. One thread only.
  void turn();

 private:
  void run();
  void reconcile();
  void follow_clock();
  void save_snapshot(int64_t events_min);

  Reactor& reactor_;
  Engine& engine_;
  Journal& journal_;
  Clock& clock_;
  const HousekeeperOptions options_;
  const std::function<void(std::string_view)> log_;
  Sequence snapshot_{};   // the newest saved
  Instant reconciled_{};  // not yet
  Instant clocked_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace moulin
