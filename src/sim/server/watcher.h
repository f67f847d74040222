// Watches what leaves the server: events that are durable, answers, and what the engine is
// asked. It folds the events itself and checks everything against that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "boundary/journal.h"
#include "server/effects.h"
#include "server/event_hub.h"
#include "server/published.h"
#include "sim/invariants.h"

namespace moulin::sim {

// What went wrong first: which checker saw it, and a sentence.
struct Wrong {
  std::string checker{};
  std::string text{};
  bool operator==(const Wrong&) const = default;
};

// How often the server's index is compared with a rebuild and the capacity of every device
// is counted: after every so many batches. The rest is checked after every event, but for
// the whole state against the fold, of which each batch compares what it touched and every
// 64th all of it.
struct Depth {
  int64_t publications = 1;
};

class Watcher {
 public:
  explicit Watcher(Depth depth) : depth_(depth) {}

  const std::optional<Wrong>& wrong() const { return wrong_; }
  void complain(std::string checker, std::string text);

  // ---- What leaves the server ----
  void published(const std::vector<NumberedEvent>& events);
  // After the last event of a batch.
  void published_view(const Published& view);
  void asked_start(const ReplicaLaunch& launch);
  void asked_end(const ReplicaKey& key, const std::string& token);
  void asked_release(const ReplicaKey& key, const std::string& token);

  // ---- Restarts ----
  // The next server's journal holds everything that was published, the same, and what it
  // recovered is the fold of it.
  void recovered(const Journal& journal, const State& state);

  // The state after all events that are durable.
  const State& state() const { return state_; }
  int64_t events() const { return state_.sequence.value; }
  uint64_t hash() const { return hash_; }
  const std::map<std::string, int64_t>& counts() const { return counts_; }
  // Whether a workload of this id was ever accepted.
  bool knows(WorkloadId id) const { return submitted_.contains(id); }
  const std::vector<std::string>& tail() const { return tail_; }
  void note(std::string line);

 private:
  void take(const NumberedEvent& event);
  void count_submission(const event::WorkloadSubmitted& submitted);
  void compare_all(const Published& view);
  void compare_touched(const Published& view);
  void violated(std::string_view checker, const Violation& violation);

  Depth depth_;
  State state_;
  std::optional<Wrong> wrong_;
  uint64_t hash_ = 0xcbf29ce484222325;
  int64_t publications_ = 0;
  std::set<WorkloadId> touched_;  // by the events since the last publication
  std::set<WorkloadId> submitted_;
  std::map<std::string, int64_t> names_;  // workloads by project and name that keyed requests made
  std::map<std::string, int64_t> counts_;
  std::map<ReplicaKey, std::string> strangers_;  // whose end the journal asks for
  std::vector<std::string> tail_;
};

}  // namespace moulin::sim
