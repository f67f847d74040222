// What one replica was given of one device, and of one node.
#pragma once

#include <vector>

#include "base/enum_text.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

// How well a part of a device is separated from its neighbours, weakest first.
enum class Isolation { kAdvisory, kInterposed, kMps, kMig };
template <>
inline constexpr auto kWords<Isolation> = std::to_array<std::string_view>({"advisory", "interposed", "mps", "mig"});

// One device, or a part of one.
struct Grant {
  GpuUuid gpu{};
  int32_t slot = 0;  // index of the device on its node
  Share share{};     // at most kWholeDevice
  Bytes memory{};
  Isolation isolation = Isolation::kAdvisory;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "gpu", self.gpu);
    visit(2, "slot", self.slot);
    visit(3, "share", self.share);
    visit(4, "memory", self.memory);
    visit(5, "isolation", self.isolation);
  }
  bool operator==(const Grant&) const = default;
};

// Where one replica is, and what it holds there.
struct Placement {
  NodeName node{};
  std::vector<Grant> grants{};
  CpuMilli cpu{};
  Bytes memory{};
  Share gpu_total() const {
    Share total{};
    for (const Grant& grant : grants) total += grant.share;
    return total;
  }
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "node", self.node);
    visit(2, "grants", self.grants);
    visit(3, "cpu", self.cpu);
    visit(4, "memory", self.memory);
  }
  bool operator==(const Placement&) const = default;
};

}  // namespace moulin
