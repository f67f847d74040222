#include "sim/scenario_expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "sim/scenario_values.h"
#include "sim/scenario_why.h"
#include "sim/usage_counter.h"

namespace moulin::scenario {

namespace {

const Workload* workload_or_null(const World& world, WorkloadId id) { return world.simulation.state().workload(id); }

std::string state_word(const World& world, WorkloadId id) {
  const Workload* workload = workload_or_null(world, id);
  return workload == nullptr ? "forgotten" : std::string(to_text(workload->state));
}

std::string waiting_text(const World& world, WorkloadId id) {
  const Workload* workload = workload_or_null(world, id);
  if (workload == nullptr || workload->waiting_for.empty()) return {};
  std::vector<std::string> words;
  for (ReasonCode code : workload->waiting_for) words.emplace_back(to_text(code));
  return " (" + join(words, ", ") + ")";
}

// Replicas that hold their place, in order of index.
std::vector<const Replica*> holders(const World& world, WorkloadId id) {
  std::vector<const Replica*> found;
  const Workload* workload = workload_or_null(world, id);
  const Attempt* attempt = workload == nullptr ? nullptr : workload->live();
  if (attempt == nullptr) return found;
  for (const Replica& replica : attempt->replicas) {
    if (replica.state != ReplicaState::kExited) found.push_back(&replica);
  }
  return found;
}

std::set<std::string> devices_of(const World& world, WorkloadId id) {
  std::set<std::string> devices;
  for (const Replica* replica : holders(world, id)) {
    for (const Grant& grant : replica->placement.grants)
      devices.insert(fmt::format("{}/{}", replica->placement.node.text, grant.slot));
  }
  return devices;
}

std::set<std::string> nodes_of(const World& world, WorkloadId id) {
  std::set<std::string> nodes;
  for (const Replica* replica : holders(world, id)) nodes.insert(replica->placement.node.text);
  return nodes;
}

std::string list_text(const std::set<std::string>& items) {
  if (items.empty()) return "nothing";
  return join(std::vector<std::string>(items.begin(), items.end()), ", ");
}

// Calls `check(id, name, item, path)` for each member of {NAME: item}.
template <class Check>
Status each_named(const World& world, const Json& value, std::string_view path, Check&& check) {
  if (!value.is_object()) return wrong_value(value, path, "names of workloads, each with what is expected");
  for (const auto& [name, item] : value.members()) {
    std::string inner = member_path(path, name);
    WorkloadId id = TRY(world.find(name, inner));
    TRY(check(id, name, item, inner));
  }
  return {};
}

// ---- One function for each member of `expect` ----

Status check_states(World& world, const Json& value, std::string_view path) {
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      std::string wanted = TRY(read_text(item, at, {}));
                      if (wanted != "forgotten") TRY(at_path(at, parse_word<WorkloadState>("state", wanted)));
                      std::string word = state_word(world, id);
                      if (word == wanted) return {};
                      return unmet(at, "the state of " + name, wanted, word + waiting_text(world, id));
                    });
}

Status check_placements(World& world, const Json& value, std::string_view path) {
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      std::vector<std::string> got;
                      for (const Replica* replica : holders(world, id)) got.push_back(replica->placement.node.text);
                      std::vector<std::string> wanted;
                      if (item.is_string()) {
                        wanted.assign(std::max(got.size(), size_t{1}), item.string());
                      } else {
                        wanted = TRY(read_texts(item, at));
                      }
                      std::ranges::sort(got);
                      std::ranges::sort(wanted);
                      if (got == wanted) return {};
                      return unmet(at, "the nodes of " + name, join(wanted, ", "),
                                   got.empty() ? "none" : join(got, ", "));
                    });
}

Status check_devices(World& world, const Json& value, std::string_view path) {
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      std::vector<std::string> list = TRY(read_texts(item, at));
                      std::set<std::string> wanted(list.begin(), list.end());
                      std::set<std::string> got = devices_of(world, id);
                      if (got == wanted) return {};
                      return unmet(at, "the devices of " + name, list_text(wanted), list_text(got));
                    });
}

using Places = std::set<std::string> (*)(const World&, WorkloadId);
enum class Wanted { kShared, kApart };

// [a, b, c]: all on the same place, or no two on the same.
template <Places places, Wanted wanted>
Status check_together(World& world, const Json& value, std::string_view path) {
  std::set<std::string> seen;
  const JsonArray& names = *TRY(read_list(value, path, 1'000));
  for (size_t i = 0; i < names.size(); ++i) {
    std::string at = item_path(path, i);
    std::string name = TRY(read_text(names[i], at, {}));
    WorkloadId id = TRY(world.find(name, at));
    std::set<std::string> mine = places(world, id);
    if (mine.empty()) return unmet(at, name, "to hold something", state_word(world, id));
    if (wanted == Wanted::kShared && i > 0 && mine != seen)
      return unmet(at, name + " beside the others", list_text(seen), list_text(mine));
    for (const std::string& place : mine) {
      if (wanted == Wanted::kApart && seen.contains(place))
        return unmet(at, name, "a place of its own", place + ", which another one has");
    }
    seen.insert(mine.begin(), mine.end());
  }
  return {};
}

Status check_replicas(World& world, const Json& value, std::string_view path) {
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      int64_t wanted = TRY(read_integer(item, at, {.min = 0}));
                      auto got = std::ssize(holders(world, id));
                      if (got == wanted) return {};
                      return unmet(at, "the live replicas of " + name, std::to_string(wanted),
                                   std::to_string(got) + waiting_text(world, id));
                    });
}

Status check_shares(World& world, const Json& value, std::string_view path) {
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      Share wanted{TRY(read_milli(item, at))};
                      Share got{};
                      for (const Replica* replica : holders(world, id)) got += replica->placement.gpu_total();
                      if (got == wanted) return {};
                      return unmet(at, "the GPU that " + name + " holds", to_text(wanted), to_text(got));
                    });
}

Status check_waiting_for(World& world, const Json& value, std::string_view path) {
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      std::vector<std::string> wanted = TRY(read_texts(item, at));
                      const Workload* workload = workload_or_null(world, id);
                      std::vector<std::string> got;
                      if (workload != nullptr) {
                        for (ReasonCode code : workload->waiting_for) got.emplace_back(to_text(code));
                      }
                      if (got == wanted) return {};
                      return unmet(at, "what the last pass noted for " + name, join(wanted, ", "),
                                   got.empty() ? "nothing" : join(got, ", "));
                    });
}

// "12.5" GPU-seconds
Result<GpuTime> read_gpu_seconds(const Json& value, std::string_view path) {
  return GpuTime{TRY(read_milli(value, path)) * 1'000};
}
std::string gpu_seconds_text(GpuTime time) { return to_text(Share{time.micro / 1'000}) + " GPU-seconds"; }

struct Counters {
  std::string_view word;
  int64_t Workload::* counter;
};

Status check_counts(World& world, const Json& value, std::string_view path) {
  static constexpr std::string_view kFields[] = {"retries", "preemptions", "lost", "held"};
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      ObjectReader reader = TRY(ObjectReader::open(item, at, {.known = kFields}));
                      const Workload* workload = workload_or_null(world, id);
                      if (workload == nullptr) return unmet(at, name, "to be there", "it has left the memory");
                      for (auto [word, counter] :
                           {Counters{"retries", &Workload::retries}, {"preemptions", &Workload::preemptions}}) {
                        const Json* count = reader.find(word);
                        if (count == nullptr) continue;
                        int64_t wanted = TRY(read_integer(*count, reader.path_of(word), {}));
                        if (workload->*counter != wanted)
                          return unmet(reader.path_of(word), fmt::format("{} of {}", word, name),
                                       std::to_string(wanted), std::to_string(workload->*counter));
                      }
                      for (auto [word, sum] : {std::pair{"lost", workload->lost}, {"held", workload->held}}) {
                        const Json* amount = reader.find(word);
                        if (amount == nullptr) continue;
                        GpuTime wanted = TRY(read_gpu_seconds(*amount, reader.path_of(word)));
                        if (sum != wanted)
                          return unmet(reader.path_of(word), fmt::format("what {} {} in all", name, word),
                                       gpu_seconds_text(wanted), gpu_seconds_text(sum));
                      }
                      return {};
                    });
}

// ---- Attempts ----

std::string attempt_text(const World& world, const Attempt& attempt) {
  std::string text = attempt.state == AttemptState::kEnded ? std::string(to_text(attempt.outcome))
                                                           : std::string(to_text(attempt.state));
  if (attempt.cause != Cause::kNone) text += fmt::format(", cause {}", to_text(attempt.cause));
  if (attempt.evicted_for) text += ", for " + world.name_of(attempt.evicted_for);
  if (attempt.lost != GpuTime{}) text += fmt::format(", lost {}", gpu_seconds_text(attempt.lost));
  return text;
}

Status check_attempt(const World& world, const Attempt& attempt, const Json& value, const std::string& path) {
  constexpr std::string_view kFields[] = {"outcome", "cause", "evicted_for", "lost", "held", "intent"};
  auto differs = [&](std::string_view what, const std::string& wanted) {
    return unmet(path, fmt::format("{} of attempt {}", what, attempt.number.value), wanted,
                 attempt_text(world, attempt));
  };
  auto word_of = [](const Attempt& a) {
    return std::string(a.state == AttemptState::kEnded ? to_text(a.outcome) : to_text(a.state));
  };
  if (value.is_string()) return value.string() == word_of(attempt) ? Status{} : differs("the end", value.string());
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  if (const Json* word = reader.find("outcome")) {
    std::string wanted = TRY(read_text(*word, reader.path_of("outcome"), {}));
    if (wanted != word_of(attempt)) return differs("the end", wanted);
  }
  if (const Json* word = reader.find("cause")) {
    Cause wanted = TRY(read_word<Cause>(*word, reader.path_of("cause"), "cause"));
    if (wanted != attempt.cause) return differs("the cause", std::string(to_text(wanted)));
  }
  if (const Json* word = reader.find("intent")) {
    Intent wanted = TRY(read_word<Intent>(*word, reader.path_of("intent"), "intent"));
    if (wanted != attempt.intent) return differs("the intent", std::string(to_text(wanted)));
  }
  if (const Json* name = reader.find("evicted_for")) {
    std::string wanted = TRY(read_text(*name, reader.path_of("evicted_for"), {}));
    WorkloadId winner = TRY(world.find(wanted, reader.path_of("evicted_for")));
    if (winner != attempt.evicted_for) return differs("the winner", wanted);
  }
  if (const Json* amount = reader.find("lost")) {
    GpuTime wanted = TRY(read_gpu_seconds(*amount, reader.path_of("lost")));
    if (wanted != attempt.lost) return differs("the loss", gpu_seconds_text(wanted));
  }
  if (const Json* amount = reader.find("held")) {
    GpuTime wanted = TRY(read_gpu_seconds(*amount, reader.path_of("held")));
    if (wanted != attempt.held) return unmet(path, "held", gpu_seconds_text(wanted), gpu_seconds_text(attempt.held));
  }
  return {};
}

Status check_attempts(World& world, const Json& value, std::string_view path) {
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string& name, const Json& item, const std::string& at) -> Status {
                      const JsonArray& wanted = *TRY(read_list(item, at, 100));
                      const Workload* workload = workload_or_null(world, id);
                      size_t count = workload == nullptr ? 0 : workload->attempts.size();
                      std::vector<std::string> got;
                      for (size_t i = 0; i < count; ++i) got.push_back(attempt_text(world, workload->attempts[i]));
                      if (count != wanted.size())
                        return unmet(at, "the number of attempts of " + name, std::to_string(wanted.size()),
                                     got.empty() ? "none" : join(got, " | "));
                      for (size_t i = 0; i < count; ++i)
                        TRY(check_attempt(world, workload->attempts[i], wanted[i], item_path(at, i)));
                      return {};
                    });
}

// ---- Explanations, events, claims ----

Status check_why(World& world, const Json& value, std::string_view path) {
  const Simulation& simulation = world.simulation;
  return each_named(world, value, path,
                    [&](WorkloadId id, const std::string&, const Json& item, const std::string& at) -> Status {
                      Explanation explanation = explain(simulation.core().view(simulation.now()), id);
                      TRY(check_explanation(explanation, item, at));
                      return try_changes(world, id, explanation, at);
                    });
}

Status check_dry_run(World& world, const Json& value, std::string_view path) {
  if (world.dry_run) return check_explanation(*world.dry_run, value, path);
  return Error{.code = Code::kInvalid, .message = "there was no `dry_run` step before", .field = std::string(path)};
}

// These in this order since the last `events`; others may come between.
Status check_events(World& world, const Json& value, std::string_view path) {
  const std::vector<Event>& journal = world.simulation.journal();
  size_t at = world.looked_until;
  for (const Json& item : *TRY(read_list(value, path, 500))) {
    std::string wanted = TRY(read_text(item, path, {}));
    bool with_subject = wanted.find(' ') != std::string::npos;
    auto matches = [&](const Event& event) {
      return with_subject ? event_line(world, event) == wanted : event_word(event.body) == wanted;
    };
    while (at < journal.size() && !matches(journal[at])) ++at;
    if (at == journal.size()) return unmet(path, "events in this order", wanted, "it did not happen, or earlier");
    ++at;
  }
  world.looked_until = journal.size();
  return {};
}

Status check_no_events(World& world, const Json& value, std::string_view path) {
  const std::vector<Event>& journal = world.simulation.journal();
  for (const Json& item : *TRY(read_list(value, path, 500))) {
    std::string unwanted = TRY(read_text(item, path, {}));
    for (size_t at = world.looked_until; at < journal.size(); ++at) {
      std::string line = event_line(world, journal[at]);
      if (line == unwanted || event_word(journal[at].body) == unwanted)
        return unmet(path, "events since the last look", "no " + unwanted, line);
    }
  }
  return {};
}

// {OWNER: [VICTIM]}: exactly these claims.
Status check_claims(World& world, const Json& value, std::string_view path) {
  std::set<std::string> wanted;
  Status read = each_named(
      world, value, path, [&](WorkloadId, const std::string& name, const Json& item, const std::string& at) -> Status {
        std::vector<std::string> list = TRY(read_texts(item, at));
        wanted.insert(name + " on the places of " + list_text(std::set<std::string>(list.begin(), list.end())));
        return {};
      });
  TRY(std::move(read));
  std::set<std::string> got;
  for (const auto& [owner, claim] : world.simulation.state().claims) {
    std::set<std::string> victims;
    for (WorkloadId victim : claim->victims) victims.insert(world.name_of(victim));
    got.insert(world.name_of(owner) + " on the places of " + list_text(victims));
  }
  if (got == wanted) return {};
  return unmet(path, "the claims", list_text(wanted), list_text(got));
}

struct Expectation {
  std::string_view word;
  Status (*check)(World&, const Json&, std::string_view);
};
// `events` last: it moves the mark that `no_events` starts from.
constexpr std::array kExpectations = std::to_array<Expectation>({
    {"states", check_states},
    {"placements", check_placements},
    {"devices", check_devices},
    {"same_device", check_together<devices_of, Wanted::kShared>},
    {"other_devices", check_together<devices_of, Wanted::kApart>},
    {"same_node", check_together<nodes_of, Wanted::kShared>},
    {"other_nodes", check_together<nodes_of, Wanted::kApart>},
    {"replicas", check_replicas},
    {"shares", check_shares},
    {"waiting_for", check_waiting_for},
    {"counts", check_counts},
    {"attempts", check_attempts},
    {"why", check_why},
    {"dry_run", check_dry_run},
    {"claims", check_claims},
    {"no_events", check_no_events},
    {"events", check_events},
});

}  // namespace

Error unmet(std::string_view path, std::string what, std::string expected, std::string got) {
  return {.code = Code::kConflict,
          .message = std::move(what),
          .field = std::string(path),
          .given = std::move(got),
          .allowed = std::move(expected)};
}

Status check_expectations(World& world, const Json& value, std::string_view path) {
  std::vector<std::string_view> words;
  for (const Expectation& expectation : kExpectations) words.push_back(expectation.word);
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = words}));
  for (const Expectation& expectation : kExpectations) {
    if (const Json* item = reader.find(expectation.word))
      TRY(expectation.check(world, *item, reader.path_of(expectation.word)));
  }
  return {};
}

Status check_refusal(const World& world, const Json* wanted, std::string_view path) {
  constexpr std::string_view kFields[] = {"code", "text", "field"};
  if (wanted == nullptr) {
    if (!world.refusal) return {};
    return unmet(path, "the answer of the core", "to be accepted", world.refusal->to_text());
  }
  if (!world.refusal) return unmet(path, "the answer of the core", "a refusal", "accepted");
  std::string text = world.refusal->to_text();
  auto contains = [&](const Json* part, std::string_view where) -> Status {
    std::string fragment = TRY(read_text(*part, where, {}));
    if (text.find(fragment) != std::string::npos) return {};
    return unmet(where, "the text of the refusal", fragment, text);
  };
  if (wanted->is_string()) return contains(wanted, path);
  ObjectReader reader = TRY(ObjectReader::open(*wanted, path, {.known = kFields}));
  if (const Json* code = reader.find("code")) {
    if (*code != Json(to_text(world.refusal->code)))
      return unmet(reader.path_of("code"), "the code of the refusal", write_json(*code),
                   fmt::format("{} ({})", to_text(world.refusal->code), text));
  }
  if (const Json* field = reader.find("field")) {
    if (*field != Json(world.refusal->field))
      return unmet(reader.path_of("field"), "the field of the refusal", write_json(*field), world.refusal->field);
  }
  if (const Json* part = reader.find("text")) return contains(part, reader.path_of("text"));
  return {};
}

}  // namespace moulin::scenario
