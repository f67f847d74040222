// The part of ReplicaKeeper that starts and adopts replicas.
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "engine/local/replica_keeper.h"
#include "shim/files.h"

namespace moulin {
namespace {

// Programs under another account must get in; the shim gives it to them.
constexpr mode_t kExchangeMode = 0700;

}  // namespace

void ReplicaKeeper::start(const ReplicaLaunch& launch) {
  if (HeldShim* held = find(launch.key); held != nullptr && held->token == launch.token) return tell_again(*held);
  Result<Found> old = look_at_old(launch);
  bool is_new = old && *old == Found::kNothing;
  Status started = !old ? old.error() : is_new ? start_new(launch) : adopt(launch.key);
  if (started) return;
  // What could not be looked at may still run; the next scan finds it by its mark.
  if (is_new) store_.unmark_live(launch.key);
  sink_(ReplicaExited{.key = launch.key,
                      .token = launch.token,
                      .exit = {.error = fmt::format("the replica could not be started: {}", started.error().to_text())},
                      .usage = {}});
}

Status ReplicaKeeper::start_new(const ReplicaLaunch& launch) {
  Fd folder = TRY(store_.make_folder(launch.key));
  AttemptLock lock = TRY(take_lock(folder));
  if (lock.state == LockState::kHeldByShim) {
    return Error{.code = Code::kConflict, .message = fmt::format("{} is in use", store_.path(launch.key))};
  }
  TRY(write_files(launch, folder));
  TRY(store_.mark_live(launch.key));
  Fd listener = TRY(listen_in(folder));
  Fd socket = TRY(connect_in(folder));
  std::string path = store_.path(launch.key);
  SpawnedShim shim = TRY(spawn_shim({.command = settings_.shim_command,
                                     .folder_path = path,
                                     .folder = folder,
                                     .lock = lock.file,
                                     .listener = listener}));
  pids_[launch.key] = shim.pid;
  int process = shim.process.number();
  epoll_event event{.events = EPOLLIN, .data = {.fd = process}};
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, process, &event);
  children_.insert_or_assign(process, std::move(shim));
  HeldShim& held = hold(launch.key, engine_record(launch), std::move(folder));
  link(held, std::move(socket));
  return {};
}

Result<ReplicaKeeper::Found> ReplicaKeeper::look_at_old(const ReplicaLaunch& launch) {
  Result<Fd> folder = store_.open_folder(launch.key);
  if (!folder && folder.error().code == Code::kNotFound) return Found::kNothing;
  if (!folder) return folder.error();
  Result<EngineRecord> record = read_engine_record(*folder);
  bool same = record && record->token == launch.token;
  AttemptLock lock = TRY(take_lock(*folder));
  bool lives = lock.state == LockState::kHeldByShim;
  bool foreign = record && is_foreign(*folder, *record, lock.state);
  if (same && !foreign && (lives || has_run(*folder))) return Found::kOurs;
  bool over = has_ended(*folder);
  if (lives && !over) {
    return Error{.code = Code::kConflict,
                 .message = fmt::format("a replica with the same number but another token still runs in {}",
                                        store_.path(launch.key)),
                 .to_do = "it is told as a stranger and ended; start again then"};
  }
  // A server died before it started the shim: the folder may be used as it is.
  if (!has_run(*folder)) return Found::kNothing;
  TRY(store_.move_aside(launch.key));
  return Found::kNothing;
}

Status ReplicaKeeper::write_files(const ReplicaLaunch& launch, const Fd& folder) const {
  if (launch.checkpoint_file.empty()) TRY(store_.make_kept_folder(launch.key));
  Fd exchange = TRY(make_folder_in(folder, attempt_files::kExchange, kExchangeMode));
  TRY(write_engine_record(folder, engine_record(launch)));
  ShimLaunch shim = shim_launch(launch);
  std::string bytes = encode_launch(shim);
  TRY(decode_launch(bytes));  // what the shim would refuse is refused here, with a report
  return write_atomically(folder, attempt_files::kLaunch, bytes, Durability::kProcess);
}

EngineRecord ReplicaKeeper::engine_record(const ReplicaLaunch& launch) const {
  return {.token = launch.token, .grants = launch.grants, .installation = settings_.installation.id};
}

ShimLaunch ReplicaKeeper::shim_launch(const ReplicaLaunch& launch) const {
  std::string folder = store_.path(launch.key);
  const Containment& containment = settings_.containment;
  bool grouped = containment.kind == ContainmentKind::kCgroup;
  std::string mark = replica_mark(launch.key, settings_.installation.id + launch.token);
  return {.token = launch.token,
          .argv = launch.argv,
          .environment = replica_environment(launch, {.folder = folder, .mark = mark}, settings_.inherited),
          .working_folder = launch.working_folder,
          .account = launch.account,
          .checkpoint_file = checkpoint_file(launch, folder),
          .limits = {.cpu = launch.limits.cpu,
                     .memory = launch.limits.memory,
                     .tasks = launch.limits.tasks,
                     .log = launch.limits.log},
          .containment = containment.kind,
          .cgroup = grouped ? fmt::format("{}/{}", containment.cgroup_parent, mark) : "",
          .usage_interval = settings_.usage_interval,
          .account_folder = launch.checkpoint_file.empty() ? kept_folder(folder) : ""};
}

HeldShim& ReplicaKeeper::hold(const ReplicaKey& key, EngineRecord record, Fd folder) {
  ++version_;
  auto [entry, fresh] = held_.insert_or_assign(
      key, HeldShim{.key = key,
                    .token = std::move(record.token),
                    .folder = std::move(folder),
                    .account = UsageAccount(key, std::move(record.grants))});
  return entry->second;
}

// Whose shim holds the lock of this very folder runs here, and how something ended stays
// true in a copy. Anything else of another installation may still run for that one: who
// ended its leftovers would end what is not ours.
bool ReplicaKeeper::is_foreign(const Fd& folder, const EngineRecord& record, LockState lock) const {
  return lock == LockState::kTaken && !has_ended(folder) && !is_of(record, settings_.installation);
}

// kUnavailable: it may be here, and could not be looked at.
Status ReplicaKeeper::adopt(const ReplicaKey& key) {
  Fd folder = TRY(store_.open_folder(key));
  AttemptLock lock = TRY(take_lock(folder));
  bool lives = lock.state == LockState::kHeldByShim;
  Result<EngineRecord> record = read_engine_record(folder);
  if (!record && lives) {
    return Error{.code = Code::kUnavailable,
                 .message = fmt::format("a supervisor runs, but the record of who it is cannot be read: {}",
                                        record.error().to_text())};
  }
  if (!record) return record.error();
  if (is_foreign(folder, *record, lock.state)) {
    return Error{.code = Code::kNotFound, .message = "the installation that this is a copy of started this replica"};
  }
  if (!lives && !has_run(folder)) {
    return Error{.code = Code::kNotFound, .message = "a server died before it started this replica"};
  }
  HeldShim& held = hold(key, std::move(*record), std::move(folder));
  if (Result<ShimIdentity> identity = read_identity(held.folder)) pids_[key] = identity->shim.pid;
  if (lives)
    connect(held, boot_time_now());
  else
    shim_is_gone(held);
  return {};
}

void ReplicaKeeper::connect(HeldShim& held, Instant now) {
  Result<Fd> socket = connect_in(held.folder);
  if (socket) return link(held, std::move(*socket));
  held.link_due = now + reconnect_pause(held.failed_links++);
  if (held.failed_links == kSilentTriesTold) tell_locked_out(held, socket.error().to_text());
}

void ReplicaKeeper::link(HeldShim& held, Fd socket) {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.fd = socket.number()}};
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, socket.number(), &event);
  links_[socket.number()] = held.key;
  held.link.emplace(std::move(socket), held.token);
  if (held.end_order) held.link->send(frame_of(MessageKind::kEnd, *held.end_order));
}

void ReplicaKeeper::unlink(HeldShim& held) {
  if (!held.link) return;
  links_.erase(held.link->descriptor());
  held.link.reset();
}

}  // namespace moulin
