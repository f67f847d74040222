#include "engine/local/replica_keeper.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

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

// Only what certainly is not here is answered as gone.
void ReplicaKeeper::end(const ReplicaKey& key, const std::string& token, const EndOrder& asked) {
  if (find(key) == nullptr) {
    Status adopted = adopt(key);
    if (!adopted && adopted.error().code == Code::kUnavailable) {
      unsure_[key] = AskedEnd{token, asked};
      ++version_;
      return;
    }
  }
  if (HeldShim* held = find(key)) return order(*held, token, asked);
  sink_(ReplicaExited{.key = key,
                      .token = token,
                      .exit = {.error = "the engine does not hold this replica", .vanished = true},
                      .usage = {}});
}

void ReplicaKeeper::order(HeldShim& held, const std::string& token, const EndOrder& order) {
  if (held.token != token || held.exit_told) return;
  if (!held.end_order || held.end_order->reason <= order.reason) held.end_order = order;
  if (held.link) held.link->send(frame_of(MessageKind::kEnd, order));
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
  ++version_;
  Result<std::vector<ReplicaKey>> live = store_.live();
  complete_ = live.has_value();
  if (!live) return warn(fmt::format("what runs could not be looked for: {}", live.error().to_text()));
  std::map<ReplicaKey, std::optional<AskedEnd>> before = std::exchange(unsure_, {});
  for (const ReplicaKey& key : *live) {
    if (find(key) != nullptr) continue;
    Status adopted = adopt(key);
    if (!adopted && adopted.error().code == Code::kUnavailable) {
      unsure_[key];
      if (!before.contains(key))
        warn(fmt::format("{} could not be taken over: {}", live_name(key), adopted.error().to_text()));
    }
    if (!adopted || scan == Scan::kFirst) continue;
    HeldShim* held = find(key);
    Result<ShimIdentity> identity = read_identity(held->folder);
    sink_(StrangerFound{.key = key, .token = held->token, .pid = identity ? identity->shim.pid : 0});
  }
  for (auto& [key, asked] : before) {
    if (asked) end(key, asked->token, asked->order);
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
  if (!news.states.empty()) held.failed_links = 0;
  for (ShimState& state : news.states) take(held, std::move(state));
  if (!news.refused.empty()) tell_locked_out(held, news.refused);
  if (!news.closed) return;
  unlink(held);
  Instant now = boot_time_now();
  held.due = now;
  held.link_due = news.states.empty() ? now + reconnect_pause(held.failed_links++) : now;
  if (held.failed_links == kSilentTriesTold) tell_locked_out(held, "it closes the connection without a reason");
}

Duration ReplicaKeeper::reconnect_pause(int failed_tries) {
  constexpr int kDoublingsMax = 10;
  return std::min(kReconnectMin * (int64_t{1} << std::min(failed_tries, kDoublingsMax)), kReconnectMax);
}

void ReplicaKeeper::tell_locked_out(HeldShim& held, const std::string& reason) {
  if (std::exchange(held.locked_out_told, true)) return;
  auto pid = pids_.find(held.key);
  std::string process = pid == pids_.end() ? "" : fmt::format(" (process {})", pid->second);
  warn(
      fmt::format("the supervisor of {}{} does not let this server in: {}. The replica runs on, but cannot be stopped "
                  "or followed; we try again at least every {} seconds. Serve with the version and the account that "
                  "started it, or end the process by hand",
                  live_name(held.key), process, reason, kReconnectMax.us / 1'000'000));
}

void ReplicaKeeper::warn(const std::string& text) const {
  if (settings_.warn) settings_.warn(text);
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
  held.due = now + std::min(reconnect_pause(held.failed_links), kLockInterval);
  Result<AttemptLock> lock = take_lock(held.folder);
  if (!lock) return;
  if (lock->state == LockState::kTaken) shim_is_gone(held);
  else if (now >= held.link_due)
    connect(held, now);
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

Held ReplicaKeeper::held() const {
  Held all{.complete = complete_};
  for (const auto& [key, held] : held_) {
    all.replicas.push_back({.key = key, .token = held.token, .exited = held.exit_told});
  }
  for (const auto& [key, asked] : unsure_) all.unsure.push_back(key);
  return all;
}

std::vector<int64_t> ReplicaKeeper::shim_pids() const {
  std::vector<int64_t> pids;
  for (const auto& [key, pid] : pids_) pids.push_back(pid);
  return pids;
}

}  // namespace moulin
