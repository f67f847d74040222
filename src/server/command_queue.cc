#include "server/command_queue.h"

#include <utility>

namespace moulin {

namespace {

constexpr size_t kGpuKind = 1'000;
constexpr size_t kPresenceKind = 1'001;
constexpr size_t kClockKind = 1'002;

// How a replica started or ended is told once; what comes later about it is stale.
bool first_counts(const CommandBody& body) {
  const auto* taken = std::get_if<command::TakeReport>(&body);
  return taken != nullptr && (std::holds_alternative<ReplicaStarted>(taken->report) ||
                              std::holds_alternative<ReplicaExited>(taken->report));
}

}  // namespace

std::optional<ReportSubject> subject_of(const CommandBody& report) {
  if (const auto* taken = std::get_if<command::TakeReport>(&report)) {
    return std::visit(
        [&](const auto& body) {
          return ReportSubject{.kind = taken->report.index(), .replica = body.key, .name = body.token};
        },
        taken->report);
  }
  if (const auto* gpu = std::get_if<command::ReportGpu>(&report)) {
    return ReportSubject{.kind = kGpuKind, .name = gpu->gpu.uuid.text};
  }
  if (const auto* presence = std::get_if<command::ReportPresence>(&report)) {
    return ReportSubject{.kind = kPresenceKind, .name = presence->node.text};
  }
  if (std::holds_alternative<command::MoveWallClock>(report)) return ReportSubject{.kind = kClockKind};
  return std::nullopt;
}

void CommandQueue::add_report(CommandBody body) {
  std::optional<ReportSubject> subject = subject_of(body);
  if (subject) {
    if (auto waiting = reports_.find(*subject); waiting != reports_.end()) {
      if (!first_counts(body)) waiting->second->body = std::move(body);
      return;
    }
  }
  items_.push_back({Actor{}, std::move(body), nullptr});
  // Elements of a deque stay where they are while others come and go at its ends.
  if (subject) reports_.emplace(std::move(*subject), &items_.back());
}

std::deque<QueuedCommand> CommandQueue::take(size_t count_max) {
  std::deque<QueuedCommand> taken;
  while (!items_.empty() && taken.size() < count_max) {
    QueuedCommand& first = items_.front();
    if (!first.answer) {
      if (std::optional<ReportSubject> subject = subject_of(first.body)) reports_.erase(*subject);
    }
    taken.push_back(std::move(first));
    items_.pop_front();
  }
  return taken;
}

std::deque<QueuedCommand> CommandQueue::take_commands(std::vector<CommandBody> lost) {
  std::deque<QueuedCommand> commands;
  std::deque<QueuedCommand> items = std::exchange(items_, {});
  reports_.clear();
  for (CommandBody& report : lost) add_report(std::move(report));
  for (QueuedCommand& item : items) {
    if (item.answer)
      commands.push_back(std::move(item));
    else
      add_report(std::move(item.body));
  }
  return commands;
}

}  // namespace moulin
