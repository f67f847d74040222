// The part of Supervisor that starts the process tree and sees it end.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "shim/files.h"
#include "shim/supervisor.h"

namespace moulin {
namespace {

std::optional<ContainmentKind> weaker(ContainmentKind kind) {
  switch (kind) {
    case ContainmentKind::kCgroup: return ContainmentKind::kPidNamespace;
    case ContainmentKind::kPidNamespace: return ContainmentKind::kSubreaper;
    case ContainmentKind::kSubreaper: return std::nullopt;
  }
  MOULIN_UNREACHABLE();
}

void complete_for(const Account& account, std::vector<std::string>& environment) {
  auto complete = [&environment](const char* name, const std::string& value) {
    if (environment_value(environment, name).empty()) environment.push_back(fmt::format("{}={}", name, value));
  };
  complete("HOME", account.home);
  complete("USER", account.name);
  complete("LOGNAME", account.name);
}

}  // namespace

Status Supervisor::start() {
  ShimLaunch& launch = parts_.launch;
  if (!launch.account.empty()) TRY(give_to_account());
  program_.emplace(launch, account_);
  state_.containment = launch.containment;
  // Before the program runs, so that what it finds there is not taken for its own.
  watch_for_checkpoints(boot_time_now());
  return start_contained();
}

Status Supervisor::give_to_account() {
  ShimLaunch& launch = parts_.launch;
  account_ = TRY(find_account(launch.account));
  Fd kept;
  if (!launch.account_folder.empty()) kept = TRY(open_folder(launch.account_folder));
  for (const Fd* folder : {&parts_.exchange, &kept}) {
    if (!*folder || ::fchown(folder->number(), account_->uid, account_->gid) == 0) continue;
    return system_error(fmt::format("give a folder of the replica to {}", launch.account), errno);
  }
  complete_for(*account_, launch.environment);
  return {};
}

Status Supervisor::start_contained() {
  cgroup_.reset();
  watched_ = parts_.launch.limits;
  if (state_.containment == ContainmentKind::kCgroup) {
    Result<Cgroup> group = Cgroup::make(parts_.launch.cgroup);
    if (group) {
      cgroup_.emplace(std::move(*group));
      CgroupLimits enforced = cgroup_->limit(watched_);
      if (enforced.cpu) watched_.cpu = {};
      if (enforced.memory) watched_.memory = {};
      if (enforced.tasks) watched_.tasks = 0;
    } else {
      state_.containment = *weaker(state_.containment);
    }
  }
  TRY(write_identity());
  TRY(output_.open());
  guard_ = TRY(start_guard({.program = *program_,
                            .containment = state_.containment,
                            .cgroup = cgroup_ ? &*cgroup_ : nullptr,
                            .out = output_.writer(LogStream::kOut),
                            .err = output_.writer(LogStream::kErr)}));
  output_.close_writers();
  return write_identity();
}

void Supervisor::fail(std::string error) {
  if (error_.empty()) error_ = std::move(error);
  if (guard_.notes) return begin_kill();
  finish({}, {});
}

void Supervisor::take_notes() {
  int64_t sender = 0;
  while (guard_.notes) {
    Result<std::optional<GuardNote>> note = next_note(guard_, sender);
    if (note && !*note) return;
    if (note) {
      take(**note, sender);
      continue;
    }
    // Killed, and not by us. Its children are ours now, as we are a subreaper too.
    guard_.notes.reset();
    guard_lost_ = true;
    count_checkpoints(checkpoint_.last_changes());  // while that process is there: it ends with all others
    if (error_.empty()) error_ = "the process that guards this replica was killed from outside";
    return;
  }
}

void Supervisor::take(const GuardNote& note, int64_t sender) {
  switch (note.kind) {
    case GuardNote::Kind::kBorn: state_.pid = sender; return;
    case GuardNote::Kind::kCannotStart: {
      guard_ = Guard{};
      std::optional<ContainmentKind> next = weaker(state_.containment);
      if (!next) return fail(failure_text(note.failure, parts_.launch));
      if (cgroup_) (void)cgroup_->remove();
      state_.containment = *next;
      if (Status started = start_contained(); !started) fail(started.error().to_text());
      return;
    }
    case GuardNote::Kind::kProgramEnded:
      wait_status_ = note.wait_status;
      // Whoever was asked to end may leave others that still save their work; else what a
      // program leaves behind ends with it.
      if (!contract_.reason()) begin_kill();
      return;
    case GuardNote::Kind::kExecEnded:
      execs_.ended(note, wait_status_ ? ExecSessions::Beside::kNothing : ExecSessions::Beside::kProgram);
      return;
    case GuardNote::Kind::kTreeGone:
      take_failure();
      guard_.notes.reset();
      finish(note.cpu, note.largest);
      return;
  }
}

void Supervisor::take_failure() {
  if (!guard_.failure) return;
  LaunchFailure failure;
  ssize_t got = ::read(guard_.failure.number(), &failure, sizeof failure);
  if (got < 0) return;
  guard_.failure.reset();
  if (got == static_cast<ssize_t>(sizeof failure)) {
    error_ = failure_text(failure, parts_.launch);
  } else if (state_.pid != 0) {
    state_.started = true;
    Instant now = boot_time_now();
    meter_.emplace(
        UsageMeter::Subject{.root = guard_.pid, .cgroup = cgroup_ ? &*cgroup_ : nullptr, .exchange = parts_.exchange},
        watched_, now);
    usage_due_ = now + parts_.launch.usage_interval;
    if (contract_.reason()) tell_guard(contract_.killed() ? GuardOrder::kKill : GuardOrder::kTerminate);
  }
  news_ = true;
}

void Supervisor::begin_kill() {
  tell_guard(GuardOrder::kKill);
}

// One that is busy with commands beside the program may have no room for an order; lost, the
// replica would never end. The stronger order stays.
void Supervisor::tell_guard(GuardOrder order) {
  GuardOrder wanted = std::max(order, owed_.value_or(order));
  owed_.reset();
  if (guard_.notes && !send_order(guard_, wanted)) owed_ = wanted;
}

void Supervisor::adopt_orphans() {
  TreeEnd(TreeEnd::Scope::kChildren, cgroup_ ? &*cgroup_ : nullptr).strike();
  while (true) {
    Reaped reaped = reap_one();
    if (reaped.kind == Reaped::Kind::kNone) return;
    if (reaped.kind == Reaped::Kind::kNoChildren) break;
  }
  guard_lost_ = false;
  DescendantsUsage used = descendants_usage();
  finish(used.cpu, used.largest);
}

void Supervisor::finish(Duration cpu, Bytes largest) {
  Instant now = boot_time_now();
  execs_.end_all();
  output_.finish();
  if (meter_) meter_->close(now, cpu, largest);
  count_checkpoints(checkpoint_.last_changes());
  if (cgroup_) {
    if (parts_.launch.limits.memory.count > 0 && cgroup_->hit_memory_limit()) {
      limit_hit_ = true;
      error_ = memory_limit_text(parts_.launch.limits.memory, parts_.launch.limits.memory);
    }
    (void)cgroup_->remove();
  }
  settle_exit();
  ended_at_ = now;
  write_status(now);
}

void Supervisor::settle_exit() {
  ShimExit& exit = state_.exit.emplace();
  exit.done_file = exists_in(parts_.exchange, attempt_files::kDone);
  exit.limit_hit = limit_hit_;
  exit.error = error_;
  bool ran = error_.empty() || limit_hit_;
  if (ran && wait_status_ && WIFEXITED(*wait_status_)) exit.code = WEXITSTATUS(*wait_status_);
  if (ran && wait_status_ && WIFSIGNALED(*wait_status_)) exit.signal = WTERMSIG(*wait_status_);
  if (error_.empty() && !wait_status_) exit.error = "the program's end was not seen";
}

}  // namespace moulin
