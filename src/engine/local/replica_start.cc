// The part of ReplicaKeeper that starts and adopts replicas.
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "engine/local/replica_keeper.h"
#include "shim/files.h"
#include "shim/program.h"

namespace moulin {
namespace {

// Programs under another account must get in; the shim gives it to them.
constexpr mode_t kExchangeMode = 0700;

}  // namespace

void ReplicaKeeper::start(const ReplicaLaunch& launch) {
  if (HeldShim* held = find(launch.key); held != nullptr && held->token == launch.token) return tell_again(*held);
  Status started = try_start(launch);
  if (started) return;
  store_.unmark_live(launch.key);
  sink_(ReplicaExited{.key = launch.key,
                      .token = launch.token,
                      .exit = {.error = fmt::format("the replica could not be started: {}", started.error().to_text())},
                      .usage = {}});
}

Status ReplicaKeeper::try_start(const ReplicaLaunch& launch) {
  Result<Found> old = look_at_old(launch);
  if (!old) return old.error();
  if (*old == Found::kOurs) return adopt(launch.key);
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
  HeldShim& held = hold(launch.key, {.token = launch.token, .grants = launch.grants}, std::move(folder));
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
  if (same && (lives || has_run(*folder))) return Found::kOurs;
  bool over = has_ended(*folder);
  if (lives && !over) {
    return Error{.code = Code::kConflict,
                 .message = fmt::format("a replica with the same number but another token still runs in {}",
                                        store_.path(launch.key)),
                 .to_do = "it is told as a stranger and ended; start again then"};
  }
  // A server died before it started the shim: the folder may be used as it is.
  if (same || !has_run(*folder)) return Found::kNothing;
  TRY(store_.move_aside(launch.key));
  return Found::kNothing;
}

// Where a program saves that named no file of its own. It belongs to the program's account.
Status ReplicaKeeper::keep_checkpoints(const ReplicaLaunch& launch) const {
  Fd kept = TRY(store_.make_kept_folder(launch.key));
  if (launch.account.empty()) return {};
  Result<Account> account = find_account(launch.account);
  if (account && ::fchown(kept.number(), account->uid, account->gid) == 0) return {};
  return {};  // the shim says what is wrong with the account
}

Status ReplicaKeeper::write_files(const ReplicaLaunch& launch, const Fd& folder) const {
  if (launch.checkpoint_file.empty()) TRY(keep_checkpoints(launch));
  Fd exchange = TRY(make_folder_in(folder, attempt_files::kExchange, kExchangeMode));
  TRY(write_engine_record(folder, {.token = launch.token, .grants = launch.grants}));
  ShimLaunch shim = shim_launch(launch);
  std::string bytes = encode_launch(shim);
  TRY(decode_launch(bytes));  // what the shim would refuse is refused here, with a report
  return write_atomically(folder, attempt_files::kLaunch, bytes, Durability::kProcess);
}

ShimLaunch ReplicaKeeper::shim_launch(const ReplicaLaunch& launch) const {
  std::string folder = store_.path(launch.key);
  const Containment& containment = settings_.containment;
  bool grouped = containment.kind == ContainmentKind::kCgroup;
  std::string mark = replica_mark(launch.key, launch.token);
  return {.token = launch.token,
          .argv = launch.argv,
          .environment = replica_environment(launch, folder, settings_.inherited),
          .working_folder = launch.working_folder,
          .account = launch.account,
          .checkpoint_file = checkpoint_file(launch, folder),
          .limits = {.cpu = launch.limits.cpu,
                     .memory = launch.limits.memory,
                     .tasks = launch.limits.tasks,
                     .log = launch.limits.log},
          .containment = containment.kind,
          .cgroup = grouped ? fmt::format("{}/{}", containment.cgroup_parent, mark) : "",
          .usage_interval = settings_.usage_interval};
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

Status ReplicaKeeper::adopt(const ReplicaKey& key) {
  Fd folder = TRY(store_.open_folder(key));
  EngineRecord record = TRY(read_engine_record(folder));
  bool ran = has_run(folder);
  AttemptLock lock = TRY(take_lock(folder));
  if (lock.state == LockState::kTaken && !ran) {
    return Error{.code = Code::kNotFound, .message = "a server died before it started this replica"};
  }
  HeldShim& held = hold(key, std::move(record), std::move(folder));
  if (Result<ShimIdentity> identity = read_identity(held.folder)) pids_[key] = identity->shim.pid;
  if (lock.state == LockState::kTaken) shim_is_gone(held);
  else connect(held);
  return {};
}

void ReplicaKeeper::connect(HeldShim& held) {
  Result<Fd> socket = connect_in(held.folder);
  if (socket) link(held, std::move(*socket));
}

void ReplicaKeeper::link(HeldShim& held, Fd socket) {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.fd = socket.number()}};
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, socket.number(), &event);
  links_[socket.number()] = held.key;
  held.link.emplace(std::move(socket), held.token);
  if (held.unsent_end) held.link->send(frame_of(MessageKind::kEnd, *held.unsent_end));
  held.unsent_end.reset();
}

void ReplicaKeeper::unlink(HeldShim& held) {
  if (!held.link) return;
  links_.erase(held.link->descriptor());
  held.link.reset();
}

}  // namespace moulin
