#include "sim/server/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "core/apply.h"
#include "sim/random_driver.h"
#include "sim/server/watcher_parts.h"
#include "sim/usage_counter.h"

namespace moulin::sim {

namespace {

constexpr size_t kTailMax = 60;
constexpr int64_t kCompareAllEvery = 64;

uint64_t mix(uint64_t hash, std::string_view bytes) { return (hash ^ hash_of(bytes)) * 0x100000001b3; }

std::string line_of(const NumberedEvent& numbered) {
  WorkloadId id = event_workload(numbered.event.body);
  return fmt::format("#{} {} us {} {}", numbered.sequence.value, numbered.event.at.us, event_word(numbered.event.body),
                     id ? to_text(id) : "");
}

std::string name_of(const ReplicaKey& key) {
  return fmt::format("replica {} of attempt {} of {}", key.replica.value, key.attempt.value, to_text(key.workload));
}

}  // namespace

void Watcher::complain(std::string checker, std::string text) {
  if (!wrong_) wrong_ = Wrong{std::move(checker), std::move(text)};
}

void Watcher::violated(std::string_view checker, const Violation& violation) {
  if (violation) complain(std::string(checker), *violation);
}

void Watcher::note(std::string line) {
  if (tail_.size() >= 2 * kTailMax) tail_.erase(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(kTailMax));
  tail_.push_back(std::move(line));
}

// ---- Events ----

void Watcher::count_submission(const event::WorkloadSubmitted& submitted) {
  submitted_.insert(submitted.workload);
  if (!submitted.spec.name.starts_with(kOncePrefix)) return;
  if (++names_[submitted.spec.project.text + "/" + submitted.spec.name] > 1)
    complain("once", fmt::format("one request with a key made {} twice", submitted.spec.name));
}

void Watcher::take(const NumberedEvent& numbered) {
  if (wrong_) return;
  note(line_of(numbered));
  if (numbered.sequence != state_.sequence.next())
    return complain("order", fmt::format("event {} comes after {}", numbered.sequence.value, state_.sequence.value));
  State before = state_;
  apply(state_, numbered.event);
  if (WorkloadId about = event_workload(numbered.event.body)) touched_.insert(about);
  ++counts_[std::string(event_word(numbered.event.body))];
  hash_ = mix(hash_, encode_event(numbered.event));
  if (const auto* submitted = std::get_if<event::WorkloadSubmitted>(&numbered.event.body)) count_submission(*submitted);
  if (const auto* asked = std::get_if<event::StrangerEndAsked>(&numbered.event.body))
    strangers_[asked->key] = asked->token;
  violated("event", check_event(before, numbered.event, state_));
  violated("state", check_state(state_));
}

void Watcher::published(const std::vector<NumberedEvent>& events) {
  for (const NumberedEvent& event : events) take(event);
  if (!wrong_) violated("between_commands", check_between_commands(state_));
}

void Watcher::published_view(const Published& view) {
  if (wrong_) return;
  if (view.state.sequence != state_.sequence)
    return complain("publication", fmt::format("readers see event {} while {} is durable", view.state.sequence.value,
                                               state_.sequence.value));
  ++publications_;
  compare_touched(view);
  if (publications_ % kCompareAllEvery == 0) compare_all(view);
  if (wrong_ || publications_ % depth_.publications != 0) return;
  if (!Index::build(view.state).equals(view.index)) return complain("index", "the index is not what a rebuild gives");
  violated("capacity", check_capacity(view));
}

void Watcher::compare_touched(const Published& view) {
  for (WorkloadId id : std::exchange(touched_, {})) {
    const Cow<Workload>* theirs = view.state.workloads.find(id);
    const Cow<Workload>* ours = state_.workloads.find(id);
    bool same = (theirs == nullptr) == (ours == nullptr) && (ours == nullptr || encode(**theirs) == encode(**ours));
    if (!same) complain("fold", to_text(id) + " is not what the journal says");
  }
}

void Watcher::compare_all(const Published& view) {
  if (encode(view.state) != encode(state_)) complain("fold", "the state is not the fold of the journal");
}

// ---- What the engine is asked ----

namespace {

const Attempt* attempt_of(const State& state, const ReplicaKey& key, const std::string& token) {
  const Workload* workload = state.workload(key.workload);
  if (workload == nullptr) return nullptr;
  auto found = std::ranges::find_if(workload->attempts, [&](const Attempt& attempt) {
    return attempt.number == key.attempt && attempt.token == token;
  });
  return found == workload->attempts.end() ? nullptr : &*found;
}

const Replica* replica_of(const Attempt* attempt, const ReplicaKey& key) {
  if (attempt == nullptr) return nullptr;
  auto found = std::ranges::find(attempt->replicas, key.replica, &Replica::index);
  return found == attempt->replicas.end() ? nullptr : &*found;
}

}  // namespace

void Watcher::asked_start(const ReplicaLaunch& launch) {
  note("  engine: start " + name_of(launch.key));
  const Replica* replica = replica_of(attempt_of(state_, launch.key, launch.token), launch.key);
  if (replica == nullptr)
    return complain("effect", name_of(launch.key) + " is to start, of which the journal knows nothing");
  if (replica->placement.node != launch.node || replica->placement.grants != launch.grants)
    complain("effect", name_of(launch.key) + " is to start where it was not placed");
}

void Watcher::asked_end(const ReplicaKey& key, const std::string& token) {
  note("  engine: end " + name_of(key));
  if (auto stranger = strangers_.find(key); stranger != strangers_.end() && stranger->second == token) return;
  const Attempt* attempt = attempt_of(state_, key, token);
  const Replica* replica = replica_of(attempt, key);
  if (replica == nullptr || (attempt->intent == Intent::kNone && !replica->end_asked))
    complain("effect", name_of(key) + " is to end, which the journal does not say");
}

void Watcher::asked_release(const ReplicaKey& key, const std::string& token) {
  note("  engine: release " + name_of(key));
  const Attempt* attempt = attempt_of(state_, key, token);
  const Replica* replica = replica_of(attempt, key);
  bool holds = replica != nullptr && attempt->state != AttemptState::kEnded && replica->state != ReplicaState::kExited;
  if (holds) complain("effect", name_of(key) + " is forgotten while the journal says that it runs");
}

// ---- Restarts ----

void Watcher::recovered(const Journal& journal, const State& state) {
  if (wrong_) return;
  if (journal.last() < state_.sequence)
    return complain("durability", fmt::format("event {} was published and the journal ends with {}",
                                              state_.sequence.value, journal.last().value));
  Status read = journal.replay(state_.sequence, [&](const StoredRecord& record) -> Status {
    Event event = TRY(decode_event(record.time, record.type, record.bytes));
    take({record.sequence, std::move(event)});
    return {};
  });
  if (!read) return complain("durability", "the journal cannot be read: " + read.error().to_text());
  if (encode(state) != encode(state_)) complain("recovery", "what was recovered is not the fold of what was published");
}

}  // namespace moulin::sim
