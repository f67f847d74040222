// Small random clusters: what the scheduler says is compared with trying everything.
#include "scheduler/explain/changes.h"

#include <doctest/doctest.h>

#include <set>

#include "scheduler/exhaustive.h"
#include "scheduler/random_case.h"

namespace moulin {
namespace {

using testing::Exhaustive;
using testing::RandomCase;

// What trying everything says about one newcomer.
class Truth {
 public:
  Truth(const State& state, WorkloadSpec spec) : state_(state), spec_(std::move(spec)) {}

  bool starts(const WorkloadSpec& spec) const { return Exhaustive(state_).starts(spec); }

  // The largest of the candidates below `asked` with which it starts.
  template <class Set>
  std::optional<int64_t> largest(const std::set<int64_t>& candidates, int64_t asked, Set set) const {
    for (auto at = candidates.rbegin(); at != candidates.rend(); ++at) {
      if (*at >= asked) continue;
      WorkloadSpec changed = spec_;
      set(changed, *at);
      if (starts(changed)) return *at;
    }
    return std::nullopt;
  }

  static std::set<int64_t> range(int64_t low, int64_t high) {
    std::set<int64_t> all;
    for (int64_t i = low; i <= high; ++i) all.insert(i);
    return all;
  }

  std::optional<int64_t> share() const {
    const GpuRequest& gpu = spec_.resources.gpu;
    if (gpu.form != GpuForm::kDevices && gpu.form != GpuForm::kShare) return std::nullopt;
    int64_t parts = gpu.count;
    if (gpu.form == GpuForm::kDevices) {
      parts = 1;
      auto found =
          largest(range(1, gpu.count), gpu.count, [](WorkloadSpec& spec, int64_t n) { spec.resources.gpu.count = n; });
      if (found) return *found * 1000;
    }
    auto found = largest(range(10, 999), gpu.share.milli, [parts](WorkloadSpec& spec, int64_t milli) {
      spec.resources.gpu = {.form = GpuForm::kShare, .count = parts, .share = {milli}};
    });
    return found ? std::optional(*found * parts) : std::nullopt;
  }
  std::optional<int64_t> gpu_memory() const {
    if (spec_.resources.gpu.form != GpuForm::kMemory) return std::nullopt;
    int64_t asked = spec_.resources.gpu.memory.count >> 20;
    auto found = largest(range(1, asked), asked,
                         [](WorkloadSpec& spec, int64_t n) { spec.resources.gpu.memory = mebibytes(n); });
    return found ? std::optional(*found << 20) : std::nullopt;
  }
  // Where the answer can change: what is free on a node or under a limit, split evenly.
  std::set<int64_t> thresholds(const std::vector<int64_t>& free, Resource resource, int64_t unit) const {
    std::set<int64_t> amounts(free.begin(), free.end());
    Exhaustive exhaustive(state_);
    for (const TreeNode* node : path_to_root(state_, spec_.project)) {
      for (const auto& [key, quota] : node->quotas) {
        if (key.resource != resource) continue;
        if (quota.limit) amounts.insert(*quota.limit - exhaustive.held(node->name, key));
        amounts.insert(quota.guaranteed - exhaustive.production(node->name, key));
      }
    }
    std::set<int64_t> thresholds{0};
    for (int64_t amount : amounts) {
      for (int64_t replicas = 1; replicas <= spec_.replicas.min; ++replicas) {
        if (amount > 0) thresholds.insert(amount / replicas / unit * unit);
      }
    }
    return thresholds;
  }
  std::optional<int64_t> cpu() const {
    auto set = [](WorkloadSpec& spec, int64_t n) { spec.resources.cpu = {n}; };
    std::set<int64_t> candidates = thresholds(Exhaustive(state_).free_cpu(), Resource::kCpu, 1);
    candidates.insert(spec_.resources.cpu.milli - 1);
    return largest(candidates, spec_.resources.cpu.milli, set);
  }
  std::optional<int64_t> memory() const {
    auto set = [](WorkloadSpec& spec, int64_t n) { spec.resources.memory = {n}; };
    int64_t unit = mebibytes(1).count;
    std::set<int64_t> candidates = thresholds(Exhaustive(state_).free_memory(), Resource::kMemory, unit);
    candidates.insert((spec_.resources.memory.count - 1) / unit * unit);
    return largest(candidates, spec_.resources.memory.count, set);
  }
  std::optional<int64_t> replicas() const {
    auto set = [](WorkloadSpec& spec, int64_t n) { spec.replicas.min = n; };
    return largest(range(1, spec_.replicas.min), spec_.replicas.min, set);
  }
  std::string model() const {
    if (spec_.resources.gpu_models.empty()) return "";
    for (const char* name : {"A100", "H100"}) {
      if (spec_.resources.gpu_models[0].text == name || !exists(name)) continue;
      WorkloadSpec changed = spec_;
      changed.resources.gpu_models = {ModelName(name)};
      if (starts(changed)) return name;
    }
    return "";
  }
  bool exists(const std::string& model) const {
    for (const auto& [name, node] : state_.nodes) {
      for (const Gpu& gpu : node->gpus) {
        if (gpu.model.text == model) return true;
      }
    }
    return false;
  }
  std::string nearest_class() const {
    int own = static_cast<int>(spec_.priority_class);
    for (int distance : {1, -1, 2, -2, 3, -3}) {
      if (own + distance < 0 || own + distance > 3) continue;
      WorkloadSpec changed = spec_;
      changed.priority_class = static_cast<Class>(own + distance);
      if (starts(changed)) return std::string(to_text(changed.priority_class));
    }
    return "";
  }

  // Whether it starts when one amount of the tree is another one.
  bool starts_with(const TreeName& at, const QuotaKey& key, std::optional<int64_t> limit,
                   std::optional<int64_t> guaranteed) const {
    State changed = state_;
    Quota& quota = changed.tree.at_mutable(at).mutate().quotas[key];
    if (limit) quota.limit = limit;
    if (guaranteed) quota.guaranteed = *guaranteed;
    if (guaranteed) quota.rest = false;
    return Exhaustive(changed).starts(spec_);
  }
  // The amounts at one tree node to which raising one limit or guarantee is enough, each
  // the smallest for its key.
  std::set<int64_t> quota_at(const TreeNode& node) const {
    std::set<int64_t> amounts;
    std::set<QuotaKey> keys{testing::gpu_key(), testing::gpu_key("other")};
    for (const auto& [key, quota] : node.quotas) keys.insert(key);
    for (const QuotaKey& key : keys) {
      auto quota = node.quotas.find(key);
      if (quota != node.quotas.end() && quota->second.limit) {
        auto works = [&](int64_t amount) { return starts_with(node.name, key, amount, std::nullopt); };
        smallest(*quota->second.limit, Exhaustive(state_).held(node.name, key), key, works, amounts);
      }
      if (spec_.priority_class != Class::kProduction || node.parent.empty()) continue;
      int64_t now = quota == node.quotas.end() ? 0 : quota->second.guaranteed;
      auto works = [&](int64_t amount) { return starts_with(node.name, key, std::nullopt, amount); };
      smallest(now, Exhaustive(state_).production(node.name, key), key, works, amounts);
    }
    return amounts;
  }

 private:
  // What the replicas can take of the key in all: any number of them, at any share that
  // the devices at hand make of the request.
  template <class Works>
  void smallest(int64_t now, int64_t held, const QuotaKey& key, Works works, std::set<int64_t>& amounts) const {
    std::set<int64_t> sums{0};
    for (int64_t i = 0; i < spec_.replicas.min; ++i) {
      std::set<int64_t> more = sums;
      for (int64_t sum : sums) more.insert(sum + each(key));
      sums = more;
    }
    for (int64_t sum : sums) {
      if (held + sum <= now || !works(held + sum)) continue;
      amounts.insert(held + sum);
      return;
    }
  }
  int64_t each(const QuotaKey& key) const {
    if (key.resource == Resource::kCpu) return spec_.resources.cpu.milli;
    if (key.resource == Resource::kMemory) return spec_.resources.memory.count;
    const GpuRequest& gpu = spec_.resources.gpu;
    return gpu.form == GpuForm::kMemory ? share_of_memory(gpu.memory, mebibytes(200)).milli
                                        : gpu.share.milli * gpu.count;
  }

  const State& state_;
  WorkloadSpec spec_;
};

const Change* change_of(const Explanation& explanation, Dimension dimension) {
  for (const Change& change : explanation.changes) {
    if (change.dimension == dimension) return &change;
  }
  return nullptr;
}

std::optional<int64_t> to_of(const Explanation& explanation, Dimension dimension) {
  const Change* change = change_of(explanation, dimension);
  return change ? change->to : std::nullopt;
}

std::string word_of(const Explanation& explanation, Dimension dimension) {
  const Change* change = change_of(explanation, dimension);
  return change && change->starts_now ? change->to_word : "";
}

void check_quota(const Explanation& explanation, const Truth& truth, const State& state, const WorkloadSpec& spec) {
  const Change* change = change_of(explanation, Dimension::kQuota);
  bool any = false;
  for (const TreeNode* node : path_to_root(state, spec.project)) {
    std::set<int64_t> amounts = truth.quota_at(*node);
    any |= !amounts.empty();
    if (change == nullptr || change->at != node->name.text) continue;
    CHECK(amounts.contains(*change->to));
  }
  CHECK((change != nullptr) == any);
}

TEST_CASE("every answer about a start equals trying everything, and so does every smallest change") {
  int blocked = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    RandomCase random(seed);
    WorkloadSpec spec = testing::job(random.random_job());
    const State& state = random.cluster().state();
    INFO("seed ", seed);
    Truth truth(state, spec);
    Explanation explanation = explain_new(random.cluster().view(), spec, {});
    bool starts = truth.starts(spec);
    bool reasons_block = false;
    std::string said;
    for (const Reason& reason : explanation.reasons) {
      reasons_block |= reason.code != ReasonCode::kBehind;
      said += "\n  " + std::string(to_text(reason.code)) + ": " + reason.text;
    }
    INFO(said);
    REQUIRE(starts == !reasons_block);
    if (starts) continue;
    ++blocked;
    CHECK(to_of(explanation, Dimension::kShare) == truth.share());
    CHECK(to_of(explanation, Dimension::kGpuMemory) == truth.gpu_memory());
    CHECK(to_of(explanation, Dimension::kCpu) == truth.cpu());
    CHECK(to_of(explanation, Dimension::kMemory) == truth.memory());
    CHECK(to_of(explanation, Dimension::kReplicas) == truth.replicas());
    CHECK(word_of(explanation, Dimension::kModel) == truth.model());
    CHECK(word_of(explanation, Dimension::kClass) == truth.nearest_class());
    check_quota(explanation, truth, state, spec);
  }
  CHECK(blocked > 150);
}

}  // namespace
}  // namespace moulin
