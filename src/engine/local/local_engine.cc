#include "engine/local/local_engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "engine/local/attempt_store.h"
#include "engine/local/local_exec.h"
#include "engine/local/replica_keeper.h"
#include "shim/files.h"
#include "shim/process_info.h"

namespace moulin {
namespace {

ShimEndReason shim_reason(EndReason reason) {
  switch (reason) {
    case EndReason::kPreempt: return ShimEndReason::kPreempt;
    case EndReason::kPause: return ShimEndReason::kPause;
    case EndReason::kStop: return ShimEndReason::kStop;
    case EndReason::kKill: return ShimEndReason::kKill;
  }
  MOULIN_UNREACHABLE();
}

}  // namespace

Result<std::unique_ptr<LocalEngine>> LocalEngine::open(LocalEngineOptions options) {
  AttemptStore store = TRY(AttemptStore::open(options.data_folder));
  if (!options.activity) options.activity = std::make_shared<DeclaredActivity>();
  options.usage_interval = std::clamp(options.usage_interval, seconds(1), hours(1));
  return std::unique_ptr<LocalEngine>(
      new LocalEngine(std::move(options), std::make_unique<AttemptStore>(std::move(store))));
}

LocalEngine::LocalEngine(LocalEngineOptions options, std::unique_ptr<AttemptStore> store)
    : options_(std::move(options)), store_(std::move(store)), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MOULIN_CHECK(static_cast<bool>(bell_), "an event descriptor can be had at start");
}

LocalEngine::~LocalEngine() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  thread_.join();
}

EngineAbilities LocalEngine::abilities() const {
  return {.placement = EngineAbilities::Placement::kDevice,
          .signals = true,
          .logs = true,
          .simulated = options_.simulated};
}

void LocalEngine::on_report(std::function<void(EngineReport)> sink) {
  MOULIN_CHECK(!thread_.joinable(), "on_report is called once");
  KeeperSettings settings{.shim_command = options_.shim_command,
                          .installation = options_.installation,
                          .inherited = options_.inherited,
                          .containment = options_.containment,
                          .usage_interval = options_.usage_interval,
                          .activity = options_.activity,
                          .warn = options_.warn};
  keeper_ = std::make_unique<ReplicaKeeper>(std::move(*store_), std::move(settings), std::move(sink));
  store_.reset();
  thread_ = std::thread([this] { live(); });
}

void LocalEngine::start(ReplicaLaunch launch) { add(StartIntent{std::move(launch)}); }

void LocalEngine::end(ReplicaKey key, std::string token, EndReason reason, Duration grace) {
  add(EndIntent{.key = key, .token = std::move(token), .reason = reason, .grace = grace});
}

void LocalEngine::release(ReplicaKey key, std::string token) {
  add(ReleaseIntent{.key = key, .token = std::move(token)});
}

void LocalEngine::add(Intent intent) {
  MOULIN_CHECK(thread_.joinable(), "on_report comes before the first intent");
  {
    std::lock_guard lock(mutex_);
    intents_.push_back(std::move(intent));
  }
  wake();
}

void LocalEngine::wake() const {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t put = ::write(bell_.number(), &one, sizeof one);
}

Held LocalEngine::list() {
  MOULIN_CHECK(thread_.joinable(), "on_report comes before list");
  std::unique_lock lock(mutex_);
  scanned_.wait(lock, [this] { return has_scanned_; });
  return held_;
}

void LocalEngine::live() {
  keeper_->scan(ReplicaKeeper::Scan::kFirst);
  Instant scan_due = boot_time_now() + options_.scan_interval;
  while (take_intents()) {
    keeper_->serve();
    Instant now = boot_time_now();
    if (now >= scan_due) {
      keeper_->scan(ReplicaKeeper::Scan::kLater);
      scan_due = now + options_.scan_interval;
    }
    int pause = keeper_->on_time(now);
    publish();
    int until_scan = static_cast<int>(std::clamp<int64_t>((scan_due - now).us / 1000 + 1, 1, 60'000));
    pause = pause < 0 ? until_scan : std::min(pause, until_scan);
    std::array<pollfd, 2> waits{{{.fd = bell_.number(), .events = POLLIN, .revents = 0},
                                 {.fd = keeper_->descriptor(), .events = POLLIN, .revents = 0}}};
    ::poll(waits.data(), waits.size(), pause);
  }
}

bool LocalEngine::take_intents() {
  uint64_t rings = 0;
  [[maybe_unused]] ssize_t got = ::read(bell_.number(), &rings, sizeof rings);
  std::vector<Intent> intents;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return false;
    intents.swap(intents_);
  }
  for (const Intent& intent : intents) {
    if (const auto* start = std::get_if<StartIntent>(&intent)) {
      keeper_->start(start->launch);
    } else if (const auto* end = std::get_if<EndIntent>(&intent)) {
      keeper_->end(end->key, end->token, {.reason = shim_reason(end->reason), .grace = end->grace});
    } else if (const auto* release = std::get_if<ReleaseIntent>(&intent)) {
      keeper_->release(release->key, release->token);
    }
  }
  return true;
}

void LocalEngine::publish() {
  if (published_ == keeper_->version()) return;
  published_ = keeper_->version();
  Held held = keeper_->held();
  std::vector<int64_t> pids = keeper_->shim_pids();
  std::lock_guard lock(mutex_);
  held_ = std::move(held);
  shim_pids_ = std::move(pids);
  has_scanned_ = true;
  scanned_.notify_all();
}

Result<std::unique_ptr<ExecChannel>> LocalEngine::exec(const ReplicaKey& key, const std::string& token,
                                                       const ExecCommand& command) {
  Fd folder = TRY(open_folder(fmt::format("{}/attempts/{}", options_.data_folder, attempt_path(key))));
  return open_exec_channel(folder, token, command);
}

bool LocalEngine::is_ours(int64_t pid) const {
  std::vector<int64_t> pids;
  {
    std::lock_guard lock(mutex_);
    pids = shim_pids_;
  }
  for (int steps = 0; pid > 1 && steps < kAncestorsMax; ++steps) {
    if (std::ranges::find(pids, pid) != pids.end()) return true;
    Result<ProcessFacts> facts = process_facts(pid);
    if (!facts) return false;
    pid = facts->parent;
  }
  return false;
}

}  // namespace moulin
