// What waits to be judged: commands with somebody who waits for the answer, and reports,
// in the order in which they came.
//
// Reports are facts and are never refused, so they must not grow without bound either:
// of two that wait and are about the same thing the newer takes the place of the older.
// There are then at most as many as there are replicas, devices and nodes.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/decide.h"
#include "model/command.h"

namespace moulin {

// After the events are durable, or with the error.
using CommandAnswer = std::move_only_function<void(const Result<Events>&)>;

struct QueuedCommand {
  Actor actor;
  CommandBody body;
  CommandAnswer answer;  // empty: a report, nobody waits
};

// What a report is about. Reports with equal subjects may stand for one another.
struct ReportSubject {
  size_t kind = 0;
  ReplicaKey replica{};
  std::string name{};  // attempt token, device or node
  auto operator<=>(const ReportSubject&) const = default;
};
// Nothing: it must be judged for itself.
std::optional<ReportSubject> subject_of(const CommandBody& report);

// Not thread-safe.
class CommandQueue {
 public:
  void add(QueuedCommand command) { items_.push_back(std::move(command)); }
  void add_report(CommandBody body);

  // The first ones, at most `count_max`.
  std::deque<QueuedCommand> take(size_t count_max);

  // Takes out everything for which somebody waits; reports stay, after the `lost` ones,
  // which were judged in vain and are older.
  std::deque<QueuedCommand> take_commands(std::vector<CommandBody> lost);

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

 private:
  std::deque<QueuedCommand> items_;
  std::map<ReportSubject, QueuedCommand*> reports_;  // of those in `items_`
};

}  // namespace moulin
