#include "shim/supervisor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "shim/files.h"
#include "shim/record.h"

namespace moulin {
namespace {

constexpr int kAgainMs = 5;

int ms_until(Instant due, Instant now) {
  return static_cast<int>(std::clamp<int64_t>((due - now).us / 1000 + 1, 0, 60'000));
}

}  // namespace

Supervisor::Supervisor(Parts parts)
    : parts_(std::move(parts)),
      control_(std::move(parts_.listener), parts_.launch.token),
      execs_(control_),
      output_(parts_.folder, parts_.launch.limits.log) {}

Status Supervisor::run() {
  become_subreaper();
  if (Status started = start(); !started) fail(started.error().to_text());
  while (true) {
    Instant now = boot_time_now();
    if (news_) push();
    if (may_go(now)) return {};
    std::vector<pollfd> fds = waits();
    ::poll(fds.data(), fds.size(), pause_ms(now));
    int failure = guard_.failure.number();
    take_notes();
    auto told = [failure](const pollfd& fd) { return fd.fd == failure && fd.revents != 0; };
    if (failure == guard_.failure.number() && std::ranges::any_of(fds, told)) take_failure();
    if (!state_.exit) output_.pump();
    serve();
    on_time(boot_time_now());
  }
}

std::vector<pollfd> Supervisor::waits() const {
  std::vector<pollfd> fds;
  auto readable = [&fds](int descriptor) {
    if (descriptor >= 0) fds.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  };
  readable(guard_.notes.number());
  readable(guard_.failure.number());
  readable(checkpoint_.descriptor());
  output_.add_to(fds);
  control_.add_to(fds);
  execs_.add_to(fds);
  return fds;
}

// Where a command can run beside the program, while that runs.
std::optional<ExecSessions::Place> Supervisor::exec_place() const {
  if (!state_.started || state_.exit || wait_status_ || !guard_.notes) return std::nullopt;
  return ExecSessions::Place{.guard = guard_, .launch = parts_.launch, .account = account_};
}

int Supervisor::pause_ms(Instant now) const {
  if (guard_lost_ || owed_) return kAgainMs;
  if (state_.exit) return ms_until(status_written_ ? ended_at_ + kLinger : status_due_, now);
  int pause = ms_until(pulse_due_, now);
  if (meter_) pause = std::min(pause, ms_until(meter_->next_look(), now));
  if (contract_.deadline() && !contract_.killed()) pause = std::min(pause, ms_until(*contract_.deadline(), now));
  if (int partial = output_.pause_ms(); partial >= 0) pause = std::min(pause, partial);
  return pause;
}

void Supervisor::serve() {
  Instant now = boot_time_now();
  for (const ShimCommand& command : control_.serve()) {
    if (const auto* order = std::get_if<EndOrder>(&command)) obey(*order, now);
    else if (const auto* seen = std::get_if<Seen>(&command)) {
      state_.checkpoints_seen = std::clamp(seen->checkpoints, state_.checkpoints_seen, state_.checkpoints);
      if (seen->note.size() <= kNoteBytesMax) state_.note = seen->note;
    } else if (std::holds_alternative<Released>(command)) released_ = state_.exit.has_value();
    else if (const auto* message = std::get_if<ExecMessage>(&command))
      execs_.take(*message, exec_place());
    else if (const auto* gone = std::get_if<ExecClientGone>(&command))
      execs_.client_gone(gone->client, guard_);
    else news_ = true;
  }
  execs_.pump();
}

void Supervisor::obey(const EndOrder& order, Instant now) {
  news_ = true;
  if (!state_.exit) carry_out(contract_.ask(order.reason, order.grace, now), now);
  state_.ending = contract_.reason();
}

void Supervisor::carry_out(const EndContract::Actions& actions, Instant now) {
  if (actions.write_flag) {
    Duration left = std::max(*contract_.deadline() - now, Duration{});
    std::string text = flag_text(*contract_.reason(), left, wall_time_us());
    // The signal alone must do when the disk is full.
    std::optional<FileOwner> owner;
    if (account_) owner = {.uid = account_->uid, .gid = account_->gid};
    (void)write_atomically(parts_.exchange, attempt_files::kFlag, text, Durability::kProcess, owner);
  }
  if (actions.kill) begin_kill();
  else if (actions.terminate && state_.started && guard_.notes) tell_guard(GuardOrder::kTerminate);
}

void Supervisor::on_time(Instant now) {
  if (guard_lost_) return adopt_orphans();
  if (owed_) tell_guard(*owed_);
  if (state_.exit) {
    if (!status_written_ && now >= status_due_) write_status(now);
    return;
  }
  stop_if_abandoned(now);
  carry_out(contract_.tick(now), now);
  count_checkpoints(checkpoint_.changes());
  watch_for_checkpoints(now);
  pulse_due_ = now + kPulse;
  if (!meter_) return;
  if (std::optional<std::string> crossed = meter_->look(now); crossed && !limit_hit_) {
    limit_hit_ = true;
    fail(*crossed);
  }
  if (now < usage_due_) return;
  usage_due_ = now + parts_.launch.usage_interval;
  news_ = true;
}

bool Supervisor::is_lost() const {
  struct stat facts {};
  return ::fstat(parts_.folder.number(), &facts) == 0 && facts.st_nlink == 0;
}

void Supervisor::stop_if_abandoned(Instant now) {
  if (findable_at_ == Instant{} || control_.has_clients() || !is_lost()) findable_at_ = now;
  if (now - findable_at_ < kAbandonedAfter || contract_.reason()) return;
  obey({.reason = ShimEndReason::kStop, .grace = kAbandonedGrace}, now);
}

// Without the process that looks, the replica runs on and its checkpoints count for nothing.
void Supervisor::watch_for_checkpoints(Instant now) {
  if (checkpoint_.running() || now < watch_due_) return;
  watch_due_ = now + kWatchRestart;
  (void)checkpoint_.start(parts_.launch.checkpoint_file, account_);
}

void Supervisor::count_checkpoints(int64_t more) {
  if (more == 0) return;
  state_.checkpoints += more;
  news_ = true;
}

void Supervisor::push() {
  news_ = false;
  if (meter_) state_.usage = meter_->usage();
  state_.log_bytes_dropped = output_.bytes_dropped();
  state_.at = boot_time_now();
  control_.push(state_);
}

void Supervisor::write_status(Instant now) {
  if (meter_) state_.usage = meter_->usage();
  state_.log_bytes_dropped = output_.bytes_dropped();
  state_.at = now;
  std::string bytes = encode_record(kStatusKind, state_);
  status_written_ = write_atomically(parts_.folder, attempt_files::kStatus, bytes, Durability::kDisk).has_value();
  status_due_ = now + kStatusRetry;
  news_ = true;
}

bool Supervisor::may_go(Instant now) const {
  if (!state_.exit) return false;
  if (released_) return true;
  return (status_written_ || is_lost()) && (!control_.has_clients() || now - ended_at_ >= kLinger);
}

Status Supervisor::write_identity() {
  ShimIdentity identity{.containment = state_.containment,
                        .cgroup = cgroup_ ? cgroup_->path() : "",
                        .mark = environment_value(parts_.launch.environment, "MOULIN_MARK")};
  identity.shim = TRY(process_identity(::getpid()));
  if (guard_.pid > 0) {
    // It may have ended already; then there is nothing to find later.
    if (Result<ProcessIdentity> guard = process_identity(guard_.pid)) identity.guard = *guard;
  }
  return write_atomically(parts_.folder, attempt_files::kIdentity, encode_record(kIdentityKind, identity),
                          Durability::kProcess);
}

}  // namespace moulin
