#include "engine/local/replica_keeper.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "shim/files.h"

namespace moulin {
namespace {

constexpr Bytes kShimLogMax = kibibytes(64);

Exit exit_of(const ShimExit& exit) {
  return {.code = exit.code,
          .signal = exit.signal,
          .error = exit.error,
          .limit_hit = exit.limit_hit,
          .done_file = exit.done_file};
}

// The shim ended before it could run anything; what it said is all there is.
std::string start_failure(const Fd& folder) {
  Result<std::string> said = read_file_in(folder, attempt_files::kShimLog, kShimLogMax);
  while (said && said->ends_with('\n')) said->pop_back();
  std::string detail = said && !said->empty() ? ": " + *said : "";
  return fmt::format("the supervisor of the replica could not be started{}", detail);
}

}  // namespace

ReplicaKeeper::ReplicaKeeper(AttemptStore store, KeeperSettings settings, Sink sink)
    : store_(std::move(store)),
      settings_(std::move(settings)),
      sink_(std::move(sink)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  MOULIN_CHECK(static_cast<bool>(epoll_), "an epoll descriptor can be had at start");
}

HeldShim* ReplicaKeeper::find(const ReplicaKey& key) {
  auto entry = held_.find(key);
  return entry == held_.end() ? nullptr : &entry->second;
}

void ReplicaKeeper::end(const ReplicaKey& key, const std::string& token, const EndOrder& order) {
  HeldShim* held = find(key);
  if (held == nullptr) {
    // Nothing of it is here, and whoever asks waits for an end.
    sink_(ReplicaExited{.key = key,
                        .token = token,
                        .exit = {.error = "the engine does not hold this replica", .vanished = true},
                        .usage = {}});
    return;
  }
  if (held->token != token || held->exit_told) return;
  if (held->link) held->link->send(frame_of(MessageKind::kEnd, order));
  else if (!held->unsent_end || held->unsent_end->reason <= order.reason) held->unsent_end = order;
}

void ReplicaKeeper::release(const ReplicaKey& key, const std::string& token) {
  HeldShim* held = find(key);
  if (held == nullptr || held->token != token || !held->exit_told) return;
  if (held->link) held->link->send(frame(MessageKind::kRelease));
  unlink(*held);
  for (const char* file : {attempt_files::kLaunch, attempt_files::kSocket, kEngineFile}) {
    ::unlinkat(held->folder.number(), file, 0);
  }
  store_.unmark_live(key);
  settings_.activity->forget(key);
  pids_.erase(key);
  held_.erase(key);
  ++version_;
}

void ReplicaKeeper::scan(Scan scan) {
  Result<std::vector<ReplicaKey>> live = store_.live();
  if (!live) return;  // the next scan may see it
  for (const ReplicaKey& key : *live) {
    if (find(key) != nullptr || !adopt(key) || scan == Scan::kFirst) continue;
    HeldShim* held = find(key);
    Result<ShimIdentity> identity = read_identity(held->folder);
    sink_(StrangerFound{.key = key, .token = held->token, .pid = identity ? identity->shim.pid : 0});
  }
}

void ReplicaKeeper::serve() {
  constexpr int kEventsMax = 256;
  std::array<epoll_event, kEventsMax> events;
  int count = ::epoll_wait(epoll_.number(), events.data(), kEventsMax, 0);
  bool ended = false;
  for (int i = 0; i < count; ++i) {
    auto link = links_.find(events[static_cast<size_t>(i)].data.fd);
    if (link == links_.end()) ended = true;
    else if (HeldShim* held = find(link->second)) serve_link(*held);
  }
  if (ended) reap_children();
}

void ReplicaKeeper::reap_children() {
  std::erase_if(children_, [](const auto& child) { return reap(child.second); });
}

void ReplicaKeeper::serve_link(HeldShim& held) {
  ShimLink::News news = held.link->serve();
  for (ShimState& state : news.states) take(held, std::move(state));
  if (!news.closed) return;
  unlink(held);
  held.due = boot_time_now();
}

void ReplicaKeeper::take(HeldShim& held, ShimState state) {
  if (!held.resumed) {
    held.account.resume(state.note);
    held.checkpoints_told = std::max(held.checkpoints_told, state.checkpoints_seen);
    held.usage_told = held.account.wall();
    held.resumed = true;
  }
  held.state = std::move(state);
  tell_news(held);
}

void ReplicaKeeper::tell_news(HeldShim& held) {
  if (held.exit_told) return;
  const ShimState& state = held.state;
  if (state.started && !held.started_told) {
    held.started_told = true;
    sink_(ReplicaStarted{.key = held.key, .token = held.token, .pid = state.pid});
    sink_(ReplicaReady{.key = held.key, .token = held.token});
  }
  bool saved = state.checkpoints > held.checkpoints_told;
  if (saved) {
    held.checkpoints_told = state.checkpoints;
    sink_(CheckpointSeen{.key = held.key, .token = held.token});
  }
  held.account.add(state.usage, *settings_.activity);
  bool due = held.account.wall() - held.usage_told >= settings_.usage_interval;
  if (due && !state.exit) {
    held.usage_told = held.account.wall();
    sink_(UsageMeasured{.key = held.key, .token = held.token, .usage = held.account.usage()});
  }
  if (held.link && !state.exit && (saved || due)) {
    held.link->send(frame_of(MessageKind::kSeen, Seen{.checkpoints = state.checkpoints, .note = held.account.note()}));
  }
  if (state.exit) tell_exit(held, exit_of(*state.exit));
}

void ReplicaKeeper::tell_exit(HeldShim& held, Exit exit) {
  held.exit_told = true;
  ++version_;
  held.leftovers.reset();
  sink_(ReplicaExited{.key = held.key, .token = held.token, .exit = std::move(exit), .usage = held.account.usage()});
}

void ReplicaKeeper::tell_again(HeldShim& held) {
  held.started_told = false;
  held.exit_told = false;
  ++version_;
  if (held.state.started || held.state.exit) tell_news(held);
}

// The shim's lock is free, so it is dead. Its last word, if it had one, is the status.
void ReplicaKeeper::shim_is_gone(HeldShim& held) {
  unlink(held);
  pids_.erase(held.key);
  ++version_;
  if (Result<ShimState> status = read_status(held.folder)) {
    return take(held, std::move(*status));
  }
  if (held.exit_told) return;
  Result<ShimIdentity> identity = read_identity(held.folder);
  if (!identity) return tell_exit(held, {.error = start_failure(held.folder)});
  held.leftovers.emplace(std::move(*identity), boot_time_now());
  held.due = boot_time_now();
}

void ReplicaKeeper::end_leftovers(HeldShim& held, Instant now) {
  held.due = now + Leftovers::kInterval;
  if (!held.leftovers->end(now)) return;
  // Its last checkpoint and use are known only as far as they were told.
  tell_exit(held, {.error = "the supervisor of the replica was killed or the machine was restarted; the replica's "
                            "processes are gone and its exit status is not known",
                   .vanished = true});
}

void ReplicaKeeper::retry(HeldShim& held, Instant now) {
  held.due = now + kReconnectInterval;
  Result<AttemptLock> lock = take_lock(held.folder);
  if (!lock) return;
  if (lock->state == LockState::kTaken) shim_is_gone(held);
  else connect(held);
}

int ReplicaKeeper::on_time(Instant now) {
  int pause = -1;
  for (auto& [key, held] : held_) {
    if (held.link || held.exit_told) continue;
    if (now >= held.due) {
      if (held.leftovers) end_leftovers(held, now);
      else retry(held, now);
    }
    if (held.link || held.exit_told) continue;
    int wait = static_cast<int>(std::clamp<int64_t>((held.due - now).us / 1000 + 1, 1, 1000));
    pause = pause < 0 ? wait : std::min(pause, wait);
  }
  return pause;
}

std::vector<HeldReplica> ReplicaKeeper::held() const {
  std::vector<HeldReplica> replicas;
  for (const auto& [key, held] : held_) {
    replicas.push_back({.key = key, .token = held.token, .exited = held.exit_told});
  }
  return replicas;
}

std::vector<int64_t> ReplicaKeeper::shim_pids() const {
  std::vector<int64_t> pids;
  for (const auto& [key, pid] : pids_) pids.push_back(pid);
  return pids;
}

}  // namespace moulin
