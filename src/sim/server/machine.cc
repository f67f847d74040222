#include "sim/server/machine.h"

#include <utility>

#include "sim/virtual_engine.h"

namespace moulin::sim {

namespace {

constexpr Duration kLookedOver = seconds(60);  // a lost report comes then at the latest

}  // namespace

void Machine::connect(Sink sink) {
  sink_ = std::move(sink);
  ++connection_;
  for (const auto& [key, process] : processes_) tell_all(process);
}

void Machine::disconnect() {
  sink_ = nullptr;
  ++connection_;
}

Machine::Process* Machine::find(const ReplicaKey& key, const std::string& token) {
  auto found = processes_.find(key);
  return found == processes_.end() || found->second.launch.token != token ? nullptr : &found->second;
}

// ---- What the server asks ----

void Machine::start(ReplicaLaunch launch) {
  if (Process* known = find(launch.key, launch.token)) return tell_all(*known);
  ReplicaKey key = launch.key;
  std::string token = launch.token;
  processes_[key] = {.launch = std::move(launch)};
  Duration delay = is_calm() ? milliseconds(5) : Duration{rng_.below(seconds(4).us)};
  timeline_.after(delay, [this, key, token] {
    if (find(key, token) != nullptr) run(key);
  });
}

void Machine::run(const ReplicaKey& key) {
  Process& process = processes_.at(key);
  if (process.exited || process.started) return;
  if (!is_calm() && rng_.chance(30)) return exit(process, {.error = "no such program"});
  process.started = true;
  tell(process, ReplicaStarted{.key = key, .token = process.launch.token, .pid = 1000 + rng_.below(30'000)});
  live(key, process.launch.token);
}

// A life of half a minute on average; now and then a long one, with checkpoints and use.
void Machine::live(const ReplicaKey& key, const std::string& token) {
  Duration left = is_calm() ? seconds(1) : Duration{rng_.below(rng_.chance(100) ? hours(1).us : seconds(60).us)};
  Duration step = std::min(left, seconds(60));
  bool ends = step == left;
  int64_t life = processes_.at(key).life;
  timeline_.after(step, [this, key, token, ends, life] {
    Process* process = find(key, token);
    if (process == nullptr || process->exited || process->life != life) return;
    if (ends) return exit(*process, random_exit());
    Usage usage{.cpu = seconds(rng_.below(60)), .memory_peak = mebibytes(1), .gpu_active = seconds(1)};
    tell(*process, UsageMeasured{.key = key, .token = token, .usage = usage});
    if (rng_.chance(300)) tell(*process, CheckpointSeen{.key = key, .token = token});
    live(key, token);
  });
}

void Machine::end(const ReplicaKey& key, const std::string& token, EndReason reason, Duration grace) {
  auto held = processes_.find(key);
  if (held == processes_.end()) {
    Process nobody{.launch = {.key = key, .token = token}};
    Exit gone{.error = "the engine does not hold this replica"};
    gone.vanished = true;
    return tell(nobody, ReplicaExited{.key = key, .token = token, .exit = std::move(gone), .usage = {}});
  }
  Process& process = held->second;
  if (process.launch.token != token || process.exited) return;
  if (process.end_asked && reason <= process.end_reason) return;
  process.end_asked = true;
  process.end_reason = reason;
  bool is_deaf = !is_calm() && rng_.chance(200);
  Duration within = reason == EndReason::kKill ? Duration{} : grace;
  Duration needs = is_deaf ? within : Duration{rng_.below(within.us + 1)};
  bool saves = !is_deaf && rng_.chance(500);
  timeline_.after(needs, [this, key, token, is_deaf, saves] {
    Process* leaving = find(key, token);
    if (leaving == nullptr || leaving->exited) return;
    if (saves) tell(*leaving, CheckpointSeen{.key = key, .token = token});
    exit(*leaving, is_deaf ? Exit{.signal = 9} : random_exit());
  });
}

void Machine::release(const ReplicaKey& key, const std::string& token) {
  if (Process* process = find(key, token); process != nullptr && process->exited) processes_.erase(key);
}

std::vector<HeldReplica> Machine::list() const {
  std::vector<HeldReplica> held;
  for (const auto& [key, process] : processes_)
    held.push_back({.key = key, .token = process.launch.token, .exited = process.exited});
  return held;
}

// ---- What happens to processes ----

Exit Machine::random_exit() {
  Exit exit;
  int64_t way = rng_.below(100);
  if (way < 75)
    exit.code = 0;
  else if (way < 90)
    exit.code = 1;
  else
    exit.signal = 11;
  exit.done_file = rng_.chance(100);
  exit.limit_hit = rng_.chance(30);
  return exit;
}

void Machine::exit(Process& process, Exit exit) {
  process.exited = true;
  process.exit = std::move(exit);
  ++process.life;
  tell(process, ReplicaExited{.key = process.launch.key,
                              .token = process.launch.token,
                              .exit = process.exit,
                              .usage = {.cpu = seconds(3), .memory_peak = mebibytes(2), .gpu_active = seconds(1)}});
}

void Machine::reboot() {
  for (auto& [key, process] : processes_) {
    if (process.exited) continue;
    process.exited = true;
    process.exit = {.error = "the machine was restarted", .vanished = true};
    ++process.life;
  }
  silent_.clear();
}

void Machine::fence(const NodeName& node) {
  unsilence(node);
  for (auto& [key, process] : processes_) {
    if (process.launch.node == node && !process.exited) exit(process, {.error = "the node was lost", .vanished = true});
  }
}

void Machine::unsilence(const NodeName& node) {
  if (silent_.erase(node) == 0) return;
  for (const auto& [key, process] : processes_)
    if (process.launch.node == node) tell_all(process);
}

void Machine::vanish_one() {
  std::vector<Process*> running;
  for (auto& [key, process] : processes_)
    if (process.started && !process.exited) running.push_back(&process);
  if (running.empty()) return;
  Process& process = *running[static_cast<size_t>(rng_.below(std::ssize(running)))];
  exit(process, {.error = "the supervisor was killed", .vanished = true});
}

void Machine::forget_one(const State& believed) {
  std::vector<ReplicaKey> running;
  for (const auto& [key, process] : processes_) {
    const Replica* replica = find_replica(believed, key);
    if (replica != nullptr && replica->state == ReplicaState::kRunning && !process.exited) running.push_back(key);
  }
  if (!running.empty()) processes_.erase(running[static_cast<size_t>(rng_.below(std::ssize(running)))]);
}

void Machine::bring_stranger() {
  ReplicaKey key{.workload = {static_cast<uint64_t>(++strangers_)}, .attempt = {1}, .replica = {0}};
  processes_[key] = {.launch = {.key = key, .token = "of somebody else"}, .started = true};
}

// ---- Reports ----

void Machine::tell_all(const Process& process) {
  const ReplicaKey& key = process.launch.key;
  if (process.started) tell(process, ReplicaStarted{.key = key, .token = process.launch.token, .pid = 1000});
  if (process.exited)
    tell(process, ReplicaExited{.key = key, .token = process.launch.token, .exit = process.exit, .usage = {}});
}

void Machine::tell(const Process& process, EngineReport report) {
  if (!sink_) return;
  Duration delay{rng_.below(milliseconds(20).us)};
  if (faults_.strikes(Fault::kLostReport, 20'000)) delay += kLookedOver;
  if (faults_.strikes(Fault::kLateReport, 50'000))
    delay += Duration{faults_.dice(Fault::kLateReport).below(kLookedOver.us)};
  NodeName node = process.launch.node;
  int64_t connection = connection_;
  if (faults_.strikes(Fault::kDoubledReport, 30'000)) {
    Duration later = delay + Duration{faults_.dice(Fault::kDoubledReport).below(kLookedOver.us)};
    timeline_.after(later, [this, node, connection, report] { deliver(node, connection, report); });
  }
  timeline_.after(delay, [this, node, connection, report] { deliver(node, connection, report); });
}

void Machine::deliver(const NodeName& node, int64_t connection, const EngineReport& report) {
  // What a silent node had to say it says again when it speaks.
  if (connection == connection_ && sink_ && !silent_.contains(node)) sink_(report);
}

}  // namespace moulin::sim
