// What one replica asks for.
#pragma once

#include <vector>

#include "base/enum_text.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

// How a request for GPU was written.
enum class GpuForm {
  kNone,     // no GPU
  kDevices,  // `count` whole devices of one node
  kShare,    // `count` devices of one node, `share` of each
  kMemory,   // `memory` of one device; becomes a share on the device at hand
};
template <>
inline constexpr auto kWords<GpuForm> = std::to_array<std::string_view>({"none", "devices", "share", "memory"});

struct GpuRequest {
  GpuForm form = GpuForm::kNone;
  int64_t count = 0;  // devices; 1 for kMemory, 0 for kNone
  Share share{};      // of each device; kWholeDevice for kDevices; 10 to 999 for kShare
  Bytes memory{};     // only kMemory
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "form", self.form);
    visit(2, "count", self.count);
    visit(3, "share", self.share);
    visit(4, "memory", self.memory);
  }
  bool operator==(const GpuRequest&) const = default;
};

enum class IsolationWish { kAny, kRequired };  // required: refuses an advisory fraction
template <>
inline constexpr auto kWords<IsolationWish> = std::to_array<std::string_view>({"any", "required"});

struct Resources {
  GpuRequest gpu{};
  std::vector<ModelName> gpu_models{};  // in order of preference; empty: any
  IsolationWish isolation = IsolationWish::kAny;
  CpuMilli cpu{};  // 0: nothing reserved, no limit
  Bytes memory{};  // 0: nothing reserved, no limit
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "gpu", self.gpu);
    visit(2, "gpu_models", self.gpu_models);
    visit(3, "isolation", self.isolation);
    visit(4, "cpu", self.cpu);
    visit(5, "memory", self.memory);
  }
  bool operator==(const Resources&) const = default;
};

// The share that `memory` takes on a device with `usable` memory: ceil(memory / usable
// x 1000), at least kShareMin. Above 1000 when it does not fit. `usable` is positive.
constexpr Share share_of_memory(Bytes memory, Bytes usable) {
  int64_t milli =
      memory.count / usable.count * 1000 + (memory.count % usable.count * 1000 + usable.count - 1) / usable.count;
  return {milli < kShareMin.milli ? kShareMin.milli : milli};
}

// The memory that goes with a share: the same fraction, rounded down.
constexpr Bytes memory_of_share(Share share, Bytes usable) {
  return {usable.count / 1000 * share.milli + usable.count % 1000 * share.milli / 1000};
}

}  // namespace moulin
