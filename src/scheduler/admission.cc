#include "scheduler/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "scheduler/applicant.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

Error refused(std::string message, std::string field) {
  return {.code = Code::kRefused, .message = std::move(message), .field = std::move(field)};
}

int64_t replicas_on_make(const NodeMake& make, const Resources& resources) {
  return std::min({most_replicas(resources, make.empty), times({make.cpu.milli, resources.cpu.milli}),
                   times({make.memory.count, resources.memory.count})});
}

// The nodes that the workload may use, by make.
class Makes {
 public:
  Makes(const Index& index, const WorkloadSpec& spec) {
    for (const auto& [make, count] : index.makes()) {
      if (may_use_pool(spec, make.empty.pool)) makes_.push_back({&make, count});
    }
  }
  bool empty() const { return makes_.empty(); }
  bool any_holds(const Resources& resources) const {
    return std::ranges::any_of(makes_,
                               [&](const auto& entry) { return replicas_on_make(*entry.first, resources) > 0; });
  }
  int64_t replicas(const Resources& resources, int64_t enough) const {
    int64_t total = 0;
    for (const auto& [make, count] : makes_) {
      total += std::min(replicas_on_make(*make, resources), enough) * count;
      if (total >= enough) return enough;
    }
    return total;
  }
  template <class Measure>
  auto largest(Measure measure) const {
    decltype(measure(*makes_.front().first)) most{};
    for (const auto& [make, count] : makes_) most = std::max(most, measure(*make));
    return most;
  }
  std::string models() const {
    std::set<std::string> names;
    for (const auto& [make, count] : makes_) {
      for (const OfferCount& entry : make->empty.offers) names.insert(entry.offer.model.text);
    }
    return names.empty() ? "no GPU at all" : join(std::vector<std::string>(names.begin(), names.end()), ", ");
  }

 private:
  std::vector<std::pair<const NodeMake*, int64_t>> makes_;
};

int64_t devices_on(const NodeMake& make, const Resources& resources) {
  int64_t devices = 0;
  for (const OfferCount& entry : make.empty.offers) {
    if (may_use_model(resources, entry.offer.model)) devices += entry.count;
  }
  return devices;
}

Bytes largest_device(const NodeMake& make, const Resources& resources) {
  Bytes largest{};
  for (const OfferCount& entry : make.empty.offers) {
    if (may_use_model(resources, entry.offer.model)) largest = std::max(largest, entry.offer.usable);
  }
  return largest;
}

Error gpu_too_large(const Makes& makes, const Resources& resources) {
  const GpuRequest& gpu = resources.gpu;
  int64_t devices = makes.largest([&](const NodeMake& make) { return devices_on(make, resources); });
  if (gpu.form == GpuForm::kMemory && devices > 0) {
    Bytes largest = makes.largest([&](const NodeMake& make) { return largest_device(make, resources); });
    Error error = refused("no device has that much GPU memory", "resources.gpu.memory");
    error.given = to_text(gpu.memory);
    error.allowed = fmt::format("at most {}, the usable memory of the largest device", to_text(largest));
    error.to_do = "ask for less memory, or for several devices";
    return error;
  }
  Error error = refused("no node has that many devices of one model", "resources.gpu");
  error.given = fmt::format("{} device{} on one node", gpu.count, gpu.count == 1 ? "" : "s");
  error.allowed = devices == 0 ? "no GPU is registered" : fmt::format("at most {} on the largest node", devices);
  error.to_do = devices == 0 ? "run it without GPU, or register a node that has one"
                             : "ask for fewer devices, or spread them over replicas";
  return error;
}

Error model_missing(const Makes& makes, const Resources& resources) {
  std::vector<std::string> wanted;
  for (const ModelName& model : resources.gpu_models) wanted.push_back(model.text);
  Resources alone = resources;
  bool exists = makes.largest([&](const NodeMake& make) { return devices_on(make, alone); }) > 0;
  if (exists) return gpu_too_large(makes, resources);
  Error error = refused("no registered node has a GPU of that model", "resources.gpu_model");
  error.given = join(wanted, ", ");
  error.allowed = makes.models();
  error.to_do = "name a model that is there, or leave gpu_model out to take any";
  return error;
}

Error amount_too_large(std::string_view what, std::string given, std::string largest) {
  Error error = refused(fmt::format("no node has that much {}", what), fmt::format("resources.{}", what));
  error.given = std::move(given);
  error.allowed = fmt::format("at most {}, on the largest node", largest);
  error.to_do = "ask for less, or spread the work over replicas";
  return error;
}

Error not_together(const Resources& resources) {
  std::vector<std::string> parts;
  if (resources.gpu.form != GpuForm::kNone) parts.push_back("the GPUs");
  if (resources.cpu.milli > 0) parts.push_back(fmt::format("{} CPU", to_text(resources.cpu)));
  if (resources.memory.count > 0) parts.push_back(fmt::format("{} of memory", to_text(resources.memory)));
  Error error = refused(fmt::format("no single node has {} together", join(parts, " and ")), "resources");
  error.allowed = "each fits some node, but never all on the same one";
  error.to_do = "ask for less of one of them";
  return error;
}

// Requires that no node holds one replica. The first part that alone is too much.
Error one_replica_too_large(const Makes& makes, const Resources& resources) {
  Resources gpu{.gpu = resources.gpu, .gpu_models = {}};
  if (!makes.any_holds(gpu)) return gpu_too_large(makes, gpu);
  gpu.gpu_models = resources.gpu_models;
  if (!makes.any_holds(gpu)) return model_missing(makes, gpu);
  gpu.isolation = resources.isolation;
  if (!makes.any_holds(gpu)) {
    Error error = refused("no device can isolate a part of itself from its neighbours", "resources.isolation");
    error.given = to_text(resources.isolation);
    error.allowed = "any, or a whole device";
    error.to_do = "ask for a whole device, or write `isolation: any`";
    return error;
  }
  if (!makes.any_holds({.gpu = {}, .gpu_models = {}, .cpu = resources.cpu})) {
    CpuMilli largest = makes.largest([](const NodeMake& make) { return make.cpu; });
    return amount_too_large("cpu", to_text(resources.cpu), to_text(largest));
  }
  if (!makes.any_holds({.gpu = {}, .gpu_models = {}, .memory = resources.memory})) {
    Bytes largest = makes.largest([](const NodeMake& make) { return make.memory; });
    return amount_too_large("memory", to_text(resources.memory), to_text(largest));
  }
  return not_together(resources);
}

Error no_nodes(const Index& index, const WorkloadSpec& spec) {
  if (index.makes().empty()) {
    Error error = refused("no node is registered", "");
    error.to_do = "register a node, then submit again";
    return error;
  }
  std::set<std::string> pools;
  for (const auto& [make, count] : index.makes()) pools.insert(make.empty.pool.text);
  std::vector<std::string> given;
  for (const PoolName& pool : spec.pools) given.push_back(pool.text);
  Error error = refused("no node is in that pool", "pools");
  error.given = join(given, ", ");
  error.allowed = join(std::vector<std::string>(pools.begin(), pools.end()), ", ");
  error.to_do = "name a pool that has nodes, or leave pools out to use all";
  return error;
}

}  // namespace

int64_t replicas_when_empty(const Index& index, const WorkloadSpec& spec, int64_t enough) {
  return Makes(index, spec).replicas(spec.resources, enough);
}

std::optional<Error> never_fits(const Index& index, const WorkloadSpec& spec) {
  Makes makes(index, spec);
  if (makes.empty()) return no_nodes(index, spec);
  if (!makes.any_holds(spec.resources)) return one_replica_too_large(makes, spec.resources);
  int64_t most = makes.replicas(spec.resources, spec.replicas.min);
  if (most >= spec.replicas.min) return std::nullopt;
  Error error = refused("the nodes together hold fewer replicas, even when empty", "replicas");
  error.given = fmt::format("{}", spec.replicas.min);
  error.allowed = fmt::format("at most {} of this size", most);
  error.to_do = "ask for fewer or smaller replicas";
  return error;
}

Status check_admission(const View& view, const WorkloadSpec& spec) {
  if (std::optional<Error> error = never_fits(view.index, spec)) return *std::move(error);
  if (std::optional<Error> error = limit_exceeded(view, spec)) return *std::move(error);
  return {};
}

}  // namespace moulin
