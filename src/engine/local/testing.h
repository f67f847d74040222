// For the tests of the local engine: a data folder, an engine on it, and what it reports.
// Waits for events with a bound, never for time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include "engine/local/attempt_store.h"
#include "engine/local/local_engine.h"
#include "shim/process_info.h"
#include "shim/temporary_folder.h"

namespace moulin::testing {

inline constexpr Duration kPatience = seconds(30);

// Looks again every few milliseconds until it holds; false when it never does.
inline bool eventually(const std::function<bool()>& holds) {
  Instant limit = boot_time_now() + kPatience;
  while (!holds()) {
    if (boot_time_now() > limit) return false;
    ::poll(nullptr, 0, 3);
  }
  return true;
}

// Reports in the order in which they came.
class Reports {
 public:
  void add(EngineReport report) {
    std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    changed_.notify_all();
  }
  // The first report of this kind about the key, waiting for it.
  template <class T>
  T wait(const ReplicaKey& key) {
    std::unique_lock lock(mutex_);
    T found{};
    bool came = changed_.wait_for(lock, std::chrono::microseconds(kPatience.us), [&] { return find<T>(key, found); });
    REQUIRE_MESSAGE(came, "a report did not come");
    return found;
  }
  template <class T>
  size_t count(const ReplicaKey& key) {
    std::lock_guard lock(mutex_);
    size_t number = 0;
    for (const EngineReport& report : reports_) {
      if (const T* it = std::get_if<T>(&report)) number += it->key == key ? 1 : 0;
    }
    return number;
  }

 private:
  template <class T>
  bool find(const ReplicaKey& key, T& found) const {
    for (const EngineReport& report : reports_) {
      const T* it = std::get_if<T>(&report);
      if (it == nullptr || it->key != key) continue;
      found = *it;
      return true;
    }
    return false;
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EngineReport> reports_;
};

// What the engine wanted whoever runs the server to know.
class Warnings {
 public:
  void add(const std::string& text) {
    std::lock_guard lock(mutex_);
    texts_.push_back(text);
  }
  std::vector<std::string> texts() {
    std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

// An engine that can be stopped and started again on the same data, like a server.
class EngineHarness {
 public:
  explicit EngineHarness(ContainmentKind kind = probe_containment().kind) : containment_(probe_containment()) {
    containment_.kind = kind;
    restart();
  }
  ~EngineHarness() {
    stop();
    // Whatever a failed test left behind.
    for (const ReplicaKey& key : started_) end_all_of(key);
  }
  EngineHarness(const EngineHarness&) = delete;
  EngineHarness& operator=(const EngineHarness&) = delete;

  void stop() { engine_.reset(); }
  void restart() {
    stop();
    reports = std::make_unique<Reports>();
    LocalEngineOptions options{.data_folder = data.path(),
                               .shim_command = {MOULIN_SHIM_FOR_TESTS, "shim"},
                               .installation = installation,
                               .inherited = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}},
                               .containment = containment_,
                               .usage_interval = seconds(1),
                               .scan_interval = milliseconds(50),
                               .warn = [this](const std::string& text) { warnings.add(text); }};
    Result<std::unique_ptr<LocalEngine>> engine = LocalEngine::open(std::move(options));
    REQUIRE(engine.has_value());
    engine_ = std::move(*engine);
    engine_->on_report([sink = reports.get()](EngineReport report) { sink->add(std::move(report)); });
  }

  ReplicaLaunch launch(std::vector<std::string> argv) {
    ReplicaLaunch launch;
    launch.key = {.workload = {.number = next_++}, .attempt = {.value = 1}, .replica = {.value = 0}};
    launch.token = fmt::format("token-of-{}", launch.key.workload.number);
    launch.argv = std::move(argv);
    launch.working_folder = data.path();
    launch.grace = seconds(5);
    return launch;
  }
  ReplicaLaunch start(ReplicaLaunch launch) {
    started_.push_back(launch.key);
    engine_->start(launch);
    return launch;
  }
  ReplicaLaunch start(std::vector<std::string> argv) { return start(launch(std::move(argv))); }
  ReplicaLaunch start_shell(const std::string& script) { return start({"sh", "-c", script}); }
  ReplicaExited run_shell(const std::string& script) {
    return reports->wait<ReplicaExited>(start_shell(script).key);
  }
  void end(const ReplicaLaunch& launch, EndReason reason, Duration grace = seconds(20)) {
    engine_->end(launch.key, launch.token, reason, grace);
  }

  std::string folder(const ReplicaLaunch& launch) const {
    return fmt::format("{}/attempts/{}/{}/{}", data.path(), to_text(launch.key.workload), launch.key.attempt.value,
                       launch.key.replica.value);
  }
  // Everything in the log files of a stream, lines with their prefix.
  std::string log(const ReplicaLaunch& launch, const std::string& stream = "stdout") const {
    std::string all;
    auto file = [&](int number) { return fmt::format("{}/{}.{}.log", folder(launch), stream, number); };
    for (int number = 1; std::filesystem::exists(file(number)); ++number) all += text_of_file(file(number));
    return all;
  }
  int64_t shim_pid(const ReplicaLaunch& launch) const { return pid_of_child_named(::getpid(), folder(launch)); }
  LocalEngine& engine() { return *engine_; }

  // Processes whose environment says that they belong to this replica.
  static std::vector<int64_t> processes_of(const ReplicaKey& key) {
    std::string mark = fmt::format("MOULIN_MARK={}-", live_name(key));
    std::vector<int64_t> pids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      int64_t pid = std::atoll(entry.path().filename().c_str());
      if (pid > 0 && text_of_file(entry.path().string() + "/environ").contains(mark)) pids.push_back(pid);
    }
    return pids;
  }

  TemporaryFolder data;
  std::unique_ptr<Reports> reports;
  Warnings warnings;
  Installation installation;  // of the next restart

 private:
  static void end_all_of(const ReplicaKey& key) {
    for (int64_t pid : processes_of(key)) ::kill(static_cast<pid_t>(pid), SIGKILL);
  }
  static int64_t pid_of_child_named(int64_t parent, const std::string& argument) {
    for (int64_t child : children_of(parent)) {
      if (text_of_file(fmt::format("/proc/{}/cmdline", child)).find(argument) != std::string::npos) return child;
    }
    return 0;
  }

  Containment containment_;
  std::unique_ptr<LocalEngine> engine_;
  std::vector<ReplicaKey> started_;
  uint64_t next_ = 1;
};

}  // namespace moulin::testing
