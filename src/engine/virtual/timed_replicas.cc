#include "engine/virtual/timed_replicas.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace moulin {

namespace {

constexpr int32_t kKilled = 9;
constexpr int32_t kTerminated = 15;

Result<int64_t> number_of(const ReplicaLaunch& launch, const std::string& name, int64_t otherwise, int64_t most) {
  auto found = launch.environment.find(name);
  if (found == launch.environment.end()) return otherwise;
  const std::string& text = found->second;
  int64_t number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= 0 && number <= most) return number;
  return Error{.code = Code::kInvalid,
               .message = "is no number of its range",
               .field = name,
               .given = text.substr(0, 200),
               .allowed = "a whole number from 0 to " + std::to_string(most)};
}

// The seconds of `sleep N`, also behind the shell that a `run` as text has.
std::optional<Duration> slept_by(const std::vector<std::string>& argv) {
  std::string words;
  if (argv.size() == 2 && argv[0] == "sleep") words = "sleep " + argv[1];
  if (argv.size() == 3 && argv[1] == "-c") words = argv[2];
  constexpr std::string_view kSleep = "sleep ";
  if (!words.starts_with(kSleep)) return {};
  std::string amount = words.substr(kSleep.size());
  bool has_unit = !amount.empty() && (amount.back() < '0' || amount.back() > '9');
  Result<Duration> duration = parse_duration(has_unit ? amount : amount + "s");
  if (!duration) return {};
  return *duration;
}

Result<Duration> duration_of(const ReplicaLaunch& launch) {
  constexpr const char* kName = "VIRTUAL_DURATION";
  auto found = launch.environment.find(kName);
  if (found == launch.environment.end()) return slept_by(launch.argv).value_or(kVirtualDuration);
  Result<Duration> duration = parse_duration(found->second);
  if (!duration) {
    Error error = duration.error();
    error.field = kName;
    return error;
  }
  return duration;
}

Share share_of(const ReplicaLaunch& launch) {
  Share share{};
  for (const Grant& grant : launch.grants) share += grant.share;
  return share;
}

}  // namespace

Result<VirtualProgram> virtual_program(const ReplicaLaunch& launch) {
  VirtualProgram program;
  program.duration = TRY(duration_of(launch));
  program.exit = static_cast<int32_t>(TRY(number_of(launch, "VIRTUAL_EXIT", 0, 255)));
  program.activity_percent = TRY(number_of(launch, "VIRTUAL_ACTIVITY", 100, 100));
  return program;
}

void TimedReplicas::start(Instant now, const ReplicaLaunch& launch) {
  auto known = replicas_.find(launch.key);
  if (known != replicas_.end() && known->second.token == launch.token) return;
  Result<VirtualProgram> program = virtual_program(launch);
  Replica replica{.token = launch.token, .started = now, .share = share_of(launch)};
  if (program) {
    replica.program = *program;
    replica.exit.code = program->exit;
  } else {
    replica.program.duration = {};
    replica.exit.error = program.error().to_text();
  }
  replica.ends = now + replica.program.duration;
  if (program) started_.push_back(ReplicaStarted{.key = launch.key, .token = launch.token, .pid = 0});
  schedule(launch.key, std::min(*replica.ends, now + kVirtualUsageEvery));
  replicas_.insert_or_assign(launch.key, std::move(replica));
}

void TimedReplicas::end(Instant now, const ReplicaKey& key, const std::string& token, EndReason reason) {
  auto found = replicas_.find(key);
  if (found == replicas_.end() || found->second.token != token || !found->second.ends) return;
  Replica& replica = found->second;
  if (*replica.ends <= now) return;  // it ended before it was asked
  replica.ends = now;
  replica.exit = {.signal = reason == EndReason::kKill ? kKilled : kTerminated};
  schedule(key, now);
}

void TimedReplicas::release(const ReplicaKey& key, const std::string& token) {
  auto found = replicas_.find(key);
  if (found != replicas_.end() && found->second.token == token && !found->second.ends) replicas_.erase(found);
}

std::vector<EngineReport> TimedReplicas::take(Instant now) {
  std::vector<EngineReport> reports = std::exchange(started_, {});
  while (!due_.empty() && due_.begin()->first <= now) {
    auto [at, key] = *due_.begin();
    due_.erase(due_.begin());
    auto found = replicas_.find(key);
    if (found == replicas_.end() || !found->second.ends) continue;
    Replica& replica = found->second;
    if (*replica.ends <= at) {
      replica.ends.reset();
      reports.push_back(ReplicaExited{key, replica.token, replica.exit, usage_at(replica, at)});
    } else {
      // Once, however long nobody asked.
      reports.push_back(UsageMeasured{key, replica.token, usage_at(replica, std::min(now, *replica.ends))});
      schedule(key, std::min(*replica.ends, now + kVirtualUsageEvery));
    }
  }
  return reports;
}

std::optional<Instant> TimedReplicas::next() const {
  if (!started_.empty()) return Instant{};
  if (due_.empty()) return {};
  return due_.begin()->first;
}

std::vector<HeldReplica> TimedReplicas::list() const {
  std::vector<HeldReplica> held;
  held.reserve(replicas_.size());
  for (const auto& [key, replica] : replicas_)
    held.push_back({.key = key, .token = replica.token, .exited = !replica.ends.has_value()});
  return held;
}

Usage TimedReplicas::usage_at(const Replica& replica, Instant now) const {
  Duration ran = now - replica.started;
  int64_t milli = replica.share.milli * replica.program.activity_percent / 100;
  // In two parts, for years times many devices are more than 64 bits hold.
  Duration active{ran.us / 1000 * milli + ran.us % 1000 * milli / 1000};
  return {.cpu = ran, .memory_peak = {}, .gpu_active = active};
}

}  // namespace moulin
