#include "engine/gpu/simulate_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "engine/gpu/gpu_models.h"

namespace moulin {

namespace {

constexpr CpuMilli kCpuPerGpu{16'000};
constexpr Bytes kMemoryPerGpu = gibibytes(128);
constexpr CpuMilli kCpuWithoutGpu{16'000};
constexpr Bytes kMemoryWithoutGpu = gibibytes(64);
constexpr Bytes kMemoryMin = mebibytes(64);

// One kind of node and how many there are.
struct Group {
  int64_t count = 1;
  std::vector<SimulatedModel> gpus{};
  std::optional<CpuMilli> cpu{};
  std::optional<Bytes> memory{};
};

// "8x..." without spaces: a count and what it counts.
struct Counted {
  int64_t count = 0;
  std::string_view what;
};

class Parser {
 public:
  explicit Parser(std::string_view spec) : spec_(spec) {}

  Result<std::vector<Group>> groups() {
    std::vector<Group> groups;
    do {
      groups.push_back(TRY(group()));
    } while (take('+'));
    if (at_ < spec_.size()) return wrong("after a node", "'+' and another node, or the end");
    return groups;
  }

 private:
  Result<Group> group() {
    Group group;
    skip_spaces();
    size_t start = at_;
    std::optional<int64_t> count = take_count();
    if (!take('(')) {
      at_ = start;
      TRY(item(group));
      return group;
    }
    group.count = count.value_or(1);
    if (group.count < 1 || group.count > kSimulatedNodesMax) {
      at_ = start;
      return wrong("not a number of nodes", fmt::format("1 to {}", kSimulatedNodesMax));
    }
    do {
      TRY(item(group));
    } while (take(','));
    if (!take(')')) return wrong("inside a node", "',' and another part, or ')'");
    return group;
  }

  // "500x" before a parenthesis; gives nothing and moves nowhere for anything else.
  std::optional<int64_t> take_count() {
    size_t end = at_;
    while (end < spec_.size() && spec_[end] >= '0' && spec_[end] <= '9') ++end;
    if (end == at_ || end - at_ > 9 || end == spec_.size() || spec_[end] != 'x') return std::nullopt;
    int64_t count = 0;
    for (char c : spec_.substr(at_, end - at_)) count = count * 10 + (c - '0');
    at_ = end + 1;
    return count;
  }

  Status item(Group& group) {
    skip_spaces();
    size_t start = at_;
    size_t end = std::min(spec_.find_first_of("+,() \t", at_), spec_.size());
    std::string_view word = spec_.substr(start, end - start);
    if (word.empty()) return wrong("a part of a node is missing", "GPUs such as 8xH100-80GB, 64cpu, or 512GiB");
    Status status = word.ends_with("cpu") ? cpu(word, group) : is_gpus(word) ? gpus(word, group) : memory(word, group);
    if (!status) return status;
    at_ = end;
    return {};
  }

  static bool is_gpus(std::string_view word) {
    size_t x = word.find('x');
    return x != std::string_view::npos && word.find_first_not_of("0123456789") == x;
  }

  Status gpus(std::string_view word, Group& group) {
    std::optional<int64_t> count = take_count();
    auto already = static_cast<int64_t>(group.gpus.size());
    if (!count || *count < 1 || already + *count > kSimulatedGpusPerNodeMax) {
      at_ = position_of(word);
      return wrong("not a number of GPUs of one node", fmt::format("1 to {} on each node", kSimulatedGpusPerNodeMax));
    }
    Result<SimulatedModel> model = simulated_model(word.substr(at_ - position_of(word)));
    if (!model) {
      Error error = model.error();
      error.field = field();
      return error;
    }
    group.gpus.insert(group.gpus.end(), static_cast<size_t>(*count), *model);
    return {};
  }

  Status cpu(std::string_view word, Group& group) {
    Result<CpuMilli> amount = parse_cpu(word.substr(0, word.size() - 3));
    std::string allowed = fmt::format("up to {}cpu, such as 64cpu, once a node", to_text(kSimulatedCpuMax));
    if (!amount || amount->milli < 1 || *amount > kSimulatedCpuMax || group.cpu)
      return wrong("not an amount of CPU", allowed);
    group.cpu = *amount;
    return {};
  }

  Status memory(std::string_view word, Group& group) {
    Result<Bytes> amount = parse_bytes(word);
    bool has_unit = word.ends_with('B');
    if (!amount || !has_unit || *amount < kMemoryMin || *amount > kSimulatedMemoryMax || group.memory) {
      return wrong("not a part of a node",
                   fmt::format("GPUs such as 8xH100-80GB, CPU such as 64cpu, or memory from {} to {}, "
                               "such as 512GiB, once a node",
                               to_text(kMemoryMin), to_text(kSimulatedMemoryMax)));
    }
    group.memory = *amount;
    return {};
  }

  size_t position_of(std::string_view part) const { return static_cast<size_t>(part.data() - spec_.data()); }

  void skip_spaces() {
    while (at_ < spec_.size() && (spec_[at_] == ' ' || spec_[at_] == '\t')) ++at_;
  }

  bool take(char c) {
    size_t before = at_;
    skip_spaces();
    if (at_ < spec_.size() && spec_[at_] == c) {
      ++at_;
      skip_spaces();
      return true;
    }
    at_ = before;
    skip_spaces();
    return false;
  }

  std::string field() const { return fmt::format("simulate, position {}", at_ + 1); }

  Error wrong(std::string_view message, std::string allowed) const {
    std::string_view rest = spec_.substr(at_);
    return {.code = Code::kInvalid,
            .message = std::string(message),
            .field = field(),
            .given = rest.empty() ? "the end" : shortened(rest, 60),
            .allowed = std::move(allowed)};
  }

  std::string_view spec_;
  size_t at_ = 0;
};

// Digits enough for the largest of `count` numbers from 0, and never fewer than `least`.
int digits_for(int64_t count, int least) {
  int digits = 1;
  for (int64_t limit = 10; limit < count; limit *= 10) ++digits;
  return std::max(digits, least);
}

SimulatedNode make_node(const Group& group, std::string_view number) {
  auto count = static_cast<int64_t>(group.gpus.size());
  SimulatedNode node{.name = NodeName(fmt::format("sim-{}", number)),
                     .gpus = {},
                     .cpu = group.cpu.value_or(count == 0 ? kCpuWithoutGpu : kCpuPerGpu * count),
                     .memory = group.memory.value_or(count == 0 ? kMemoryWithoutGpu : kMemoryPerGpu * count)};
  node.gpus.reserve(group.gpus.size());
  for (int32_t i = 0; const SimulatedModel& model : group.gpus) {
    node.gpus.push_back({.uuid = GpuUuid(fmt::format("GPU-sim-{}-{:02}", number, i)),
                         .index = i,
                         .model = model.name,
                         .memory = model.memory});
    ++i;
  }
  return node;
}

Error too_many(std::string_view message, int64_t given, int64_t limit) {
  return {.code = Code::kInvalid,
          .message = std::string(message),
          .field = "simulate",
          .given = std::to_string(given),
          .allowed = fmt::format("at most {} in all", limit)};
}

}  // namespace

Result<std::vector<SimulatedNode>> parse_simulate_spec(std::string_view spec) {
  if (spec.size() > kSimulateSpecMax) {
    return too_many("the description is too long, in bytes", static_cast<int64_t>(spec.size()), kSimulateSpecMax);
  }
  std::vector<Group> groups = TRY(Parser(spec).groups());
  int64_t nodes = 0, gpus = 0;
  for (const Group& group : groups) {
    nodes += group.count;
    gpus += group.count * static_cast<int64_t>(group.gpus.size());
  }
  if (nodes > kSimulatedNodesMax) return too_many("too many nodes", nodes, kSimulatedNodesMax);
  if (gpus > kSimulatedGpusMax) return too_many("too many GPUs", gpus, kSimulatedGpusMax);
  std::vector<SimulatedNode> made;
  made.reserve(static_cast<size_t>(nodes));
  int digits = digits_for(nodes, 3);
  for (const Group& group : groups) {
    for (int64_t i = 0; i < group.count; ++i)
      made.push_back(make_node(group, fmt::format("{:0{}}", made.size(), digits)));
  }
  return made;
}

}  // namespace moulin
