// The quota tree: organisation > department > project, up to 8 levels. Only projects
// hold workloads.
#pragma once

#include <map>
#include <optional>

#include "base/enum_text.h"
#include "base/instant.h"
#include "model/names.h"

namespace moulin {

enum class Resource { kGpu, kCpu, kMemory };
template <>
inline constexpr auto kWords<Resource> = std::to_array<std::string_view>({"gpu", "cpu", "memory"});

// What an amount of quota is of. Amounts are in thousandths of a device, thousandths of a
// core, or bytes.
struct QuotaKey {
  PoolName pool = kDefaultPool;
  Resource resource = Resource::kGpu;
  ModelName model{};  // only kGpu: only devices of this model count; empty: all
  auto operator<=>(const QuotaKey&) const = default;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "pool", self.pool);
    visit(2, "resource", self.resource);
    visit(3, "model", self.model);
  }
};

struct Quota {
  bool rest = false;             // guaranteed is the capacity less the guarantees of all others
  int64_t guaranteed = 0;        // always ours; ignored with `rest`
  std::optional<int64_t> limit{};  // never more than this; absent: no limit
  int64_t weight = 1;            // how surplus is divided; 0: none
  int64_t rank = 0;              // larger is served first
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "rest", self.rest);
    visit(2, "guaranteed", self.guaranteed);
    visit(3, "limit", self.limit);
    visit(4, "weight", self.weight);
    visit(5, "rank", self.rank);
  }
  bool operator==(const Quota&) const = default;
};
inline constexpr int64_t kQuotaAmountMax = int64_t{1} << 60;
inline constexpr int64_t kWeightMax = 1'000'000;
inline constexpr int64_t kRankMax = 1'000'000;
inline constexpr int kTreeDepthMax = 8;

enum class TreeKind { kOrganisation, kDepartment, kProject };
template <>
inline constexpr auto kWords<TreeKind> = std::to_array<std::string_view>({"organisation", "department", "project"});

struct TreeNode {
  TreeName name{};
  TreeKind kind = TreeKind::kProject;
  TreeName parent{};                  // empty for the organisation only
  std::map<QuotaKey, Quota> quotas{}; // absent: guaranteed 0, no limit, weight 1, rank 0
  Instant created{};
  int64_t order = 0;                // creation order in the whole tree
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "name", self.name);
    visit(2, "kind", self.kind);
    visit(3, "parent", self.parent);
    visit(4, "quotas", self.quotas);
    visit(5, "created", self.created);
    visit(6, "order", self.order);
  }
  bool operator==(const TreeNode&) const = default;
};

}  // namespace moulin
