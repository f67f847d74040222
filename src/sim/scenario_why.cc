#include "sim/scenario_why.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_reader.h"
#include "base/text.h"
#include "sim/scenario_expect.h"

namespace moulin::scenario {

namespace {

// ---- Reasons ----

std::string reason_text(const Reason& reason) {
  std::string text = fmt::format("{} \"{}\"", to_text(reason.code), reason.text);
  for (const auto& [name, number] : reason.numbers) text += fmt::format(" {}={}", name, number);
  for (const auto& [name, word] : reason.names) text += fmt::format(" {}={}", name, word);
  return text;
}

std::string reasons_text(const std::vector<Reason>& reasons) {
  if (reasons.empty()) return "none";
  std::vector<std::string> lines;
  for (const Reason& reason : reasons) lines.push_back(reason_text(reason));
  return join(lines, "\n      ");
}

Result<bool> reason_matches(const Reason& reason, const Json& value, std::string_view path) {
  constexpr std::string_view kFields[] = {"code", "text", "numbers", "names"};
  if (value.is_string()) {
    TRY(at_path(path, parse_word<ReasonCode>("reason", value.string())));
    return to_text(reason.code) == value.string();
  }
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  const Json& code = *TRY(reader.require("code"));
  if (TRY(read_word<ReasonCode>(code, reader.path_of("code"), "reason")) != reason.code) return false;
  if (const Json* text = reader.find("text")) {
    if (reason.text.find(TRY(read_text(*text, reader.path_of("text"), {}))) == std::string::npos) return false;
  }
  if (const Json* numbers = reader.find("numbers")) {
    for (const auto& [name, number] : numbers->members()) {
      auto found = reason.numbers.find(name);
      int64_t wanted = TRY(read_integer(number, member_path(reader.path_of("numbers"), name), {}));
      if (found == reason.numbers.end() || found->second != wanted) return false;
    }
  }
  if (const Json* names = reader.find("names")) {
    for (const auto& [name, word] : names->members()) {
      auto found = reason.names.find(name);
      if (found == reason.names.end() || Json(found->second) != word) return false;
    }
  }
  return true;
}

Status check_exact_reasons(const std::vector<Reason>& reasons, const Json& value, std::string_view path) {
  const JsonArray& wanted = *TRY(read_list(value, path, 50));
  bool same = wanted.size() == reasons.size();
  for (size_t i = 0; same && i < wanted.size(); ++i)
    same = TRY(reason_matches(reasons[i], wanted[i], item_path(path, i)));
  if (same) return {};
  return unmet(path, "the reasons", write_json(value), reasons_text(reasons));
}

Status check_some_reasons(const std::vector<Reason>& reasons, const Json& value, std::string_view path) {
  const JsonArray& wanted = *TRY(read_list(value, path, 50));
  for (size_t i = 0; i < wanted.size(); ++i) {
    bool found = false;
    for (const Reason& reason : reasons) found = found || TRY(reason_matches(reason, wanted[i], item_path(path, i)));
    if (!found) return unmet(item_path(path, i), "a reason", write_json(wanted[i]), reasons_text(reasons));
  }
  return {};
}

// ---- Changes ----

std::string change_text(const Change& change) {
  std::string text{to_text(change.dimension)};
  if (!change.at.empty()) text += " at " + change.at;
  auto side = [](const std::optional<int64_t>& number, const std::string& word) {
    return number ? std::to_string(*number) : word.empty() ? std::string("-") : word;
  };
  text += fmt::format(": {} to {}", side(change.from, change.from_word), side(change.to, change.to_word));
  if (!change.starts_now) text += " (does not start now)";
  return text + " \"" + change.text + "\"";
}

std::string changes_text(const std::vector<Change>& changes) {
  if (changes.empty()) return "none";
  std::vector<std::string> lines;
  for (const Change& change : changes) lines.push_back(change_text(change));
  return join(lines, "\n      ");
}

// An amount as a user writes it, in the unit of the dimension.
Result<int64_t> read_side(const Json& value, std::string_view path, Dimension dimension) {
  std::string text = TRY(read_amount_text(value, path, "an amount"));
  switch (dimension) {
    case Dimension::kShare: return at_path(path, parse_milli(text));
    case Dimension::kCpu: return TRY(at_path(path, parse_cpu(text))).milli;
    case Dimension::kGpuMemory:
    case Dimension::kMemory: return TRY(at_path(path, parse_bytes(text))).count;
    case Dimension::kReplicas: return read_integer(value, path, {});
    case Dimension::kQuota: {
      if (!text.ends_with('B')) return at_path(path, parse_milli(text));
      return TRY(at_path(path, parse_bytes(text))).count;
    }
    case Dimension::kModel:
    case Dimension::kClass:
    case Dimension::kTopology: return wrong_value(value, path, "a word");
  }
  MOULIN_UNREACHABLE();
}

bool is_word(Dimension dimension) {
  return dimension == Dimension::kModel || dimension == Dimension::kClass || dimension == Dimension::kTopology;
}

Result<bool> change_matches(const Change& change, const Json& value, std::string_view path) {
  constexpr std::string_view kFields[] = {"dimension", "from", "to", "at", "text", "starts_now"};
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  const Json& word = *TRY(reader.require("dimension"));
  auto dimension = TRY(read_word<Dimension>(word, reader.path_of("dimension"), "dimension"));
  if (dimension != change.dimension) return false;
  for (auto [name, number, text] :
       {std::tuple{"from", change.from, change.from_word}, {"to", change.to, change.to_word}}) {
    const Json* side = reader.find(name);
    if (side == nullptr) continue;
    if (is_word(dimension)) {
      if (*side != Json(text)) return false;
    } else if (number != TRY(read_side(*side, reader.path_of(name), dimension))) {
      return false;
    }
  }
  if (const Json* at = reader.find("at"); at != nullptr && *at != Json(change.at)) return false;
  if (const Json* text = reader.find("text")) {
    if (change.text.find(TRY(read_text(*text, reader.path_of("text"), {}))) == std::string::npos) return false;
  }
  const Json* now = reader.find("starts_now");
  return now == nullptr || TRY(read_boolean(*now, reader.path_of("starts_now"))) == change.starts_now;
}

Status check_changes(const std::vector<Change>& changes, const Json& value, std::string_view path) {
  const JsonArray& wanted = *TRY(read_list(value, path, 50));
  for (size_t i = 0; i < wanted.size(); ++i) {
    bool found = false;
    for (const Change& change : changes) found = found || TRY(change_matches(change, wanted[i], item_path(path, i)));
    if (!found) return unmet(item_path(path, i), "a change", write_json(wanted[i]), changes_text(changes));
  }
  return {};
}

// ---- Trying changes ----

// The request with `total` thousandths for each replica.
void set_share(WorkloadSpec& spec, int64_t total) {
  GpuRequest& gpu = spec.resources.gpu;
  if (total % kWholeDevice.milli == 0 && gpu.form != GpuForm::kShare) {
    gpu = {.form = GpuForm::kDevices, .count = total / kWholeDevice.milli, .share = kWholeDevice};
  } else {
    int64_t count = gpu.form == GpuForm::kShare ? gpu.count : 1;
    gpu = {.form = GpuForm::kShare, .count = count, .share = {total / count}};
  }
}

void change_spec(WorkloadSpec& spec, const Change& change) {
  int64_t to = change.to.value_or(0);
  switch (change.dimension) {
    case Dimension::kShare: set_share(spec, to); return;
    case Dimension::kGpuMemory: spec.resources.gpu.memory = {to}; return;
    case Dimension::kCpu: spec.resources.cpu = {to}; return;
    case Dimension::kMemory: spec.resources.memory = {to}; return;
    case Dimension::kModel:
      spec.resources.gpu_models.clear();
      if (!change.to_word.empty() && change.to_word != "any")
        spec.resources.gpu_models.push_back(ModelName(change.to_word));
      return;
    case Dimension::kClass:
      spec.priority_class = from_text<Class>(change.to_word).value_or(spec.priority_class);
      return;
    case Dimension::kReplicas:
      spec.replicas.min = to;
      spec.replicas.max = std::max(spec.replicas.max, to);
      return;
    case Dimension::kTopology:
    case Dimension::kQuota: return;
  }
}

// Every quota of that tree node whose limit or guarantee is the change's `from` becomes `to`.
void change_quota(State& state, const Change& change) {
  Cow<TreeNode>* node = state.tree.find_mutable(TreeName(change.at));
  if (node == nullptr || !change.to) return;
  bool known = false;
  std::map<QuotaKey, Quota>& quotas = node->mutate().quotas;
  for (auto& [key, quota] : quotas) {
    bool is_limit = quota.limit && quota.limit == change.from;
    bool is_guarantee = quota.rest || quota.guaranteed == change.from.value_or(0);
    if (is_limit) quota.limit = change.to;
    if (is_guarantee) {
      quota.rest = false;
      quota.guaranteed = *change.to;
    }
    known = known || is_limit || is_guarantee;
  }
  if (!known) quotas[QuotaKey{}].guaranteed = *change.to;
}

// Whether a pass over that state starts the workload, or evicts others so that it will.
bool keeps_promise(const State& state, WorkloadId id, Instant now, const Change& change) {
  Index index = Index::build(state);
  Plan plan = make_plan({state, index, now}, {.candidates_max = INT64_MAX});
  bool starts =
      std::ranges::any_of(plan.starts, [&](const StartItem& item) { return item.workload == id && !item.surplus; });
  bool claims = std::ranges::any_of(plan.claims, [&](const Claim& claim) { return claim.owner == id; });
  return change.starts_now ? starts : claims;
}

}  // namespace

Status check_explanation(const Explanation& explanation, const Json& value, std::string_view path) {
  constexpr std::string_view kFields[] = {"reasons", "has", "changes", "only_changes", "expected_start_reason"};
  if (value.is_array()) return check_exact_reasons(explanation.reasons, value, path);
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  if (const Json* wanted = reader.find("reasons"))
    TRY(check_exact_reasons(explanation.reasons, *wanted, reader.path_of("reasons")));
  if (const Json* wanted = reader.find("has"))
    TRY(check_some_reasons(explanation.reasons, *wanted, reader.path_of("has")));
  if (const Json* wanted = reader.find("changes"))
    TRY(check_changes(explanation.changes, *wanted, reader.path_of("changes")));
  if (const Json* wanted = reader.find("only_changes")) {
    TRY(check_changes(explanation.changes, *wanted, reader.path_of("only_changes")));
    if (wanted->items().size() != explanation.changes.size())
      return unmet(reader.path_of("only_changes"), "all changes", write_json(*wanted),
                   changes_text(explanation.changes));
  }
  if (const Json* wanted = reader.find("expected_start_reason")) {
    std::string fragment = TRY(read_text(*wanted, reader.path_of("expected_start_reason"), {}));
    if (explanation.expected_start_reason.find(fragment) == std::string::npos)
      return unmet(reader.path_of("expected_start_reason"), "why no start can be told", fragment,
                   explanation.expected_start_reason);
  }
  return {};
}

Status try_changes(const World& world, WorkloadId workload, const Explanation& explanation, std::string_view path) {
  for (const Change& change : explanation.changes) {
    if (change.dimension == Dimension::kTopology) continue;
    State state = world.simulation.state();
    if (change.dimension == Dimension::kQuota) {
      change_quota(state, change);
    } else {
      change_spec(state.workloads.at_mutable(workload).mutate().spec, change);
    }
    if (keeps_promise(state, workload, world.simulation.now(), change)) continue;
    return unmet(path, "a change that was promised to start it", change_text(change), "it does not start with it");
  }
  return {};
}

}  // namespace moulin::scenario
