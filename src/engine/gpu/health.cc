#include "engine/gpu/health.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/check.h"
#include "engine/gpu/xid.h"

namespace moulin {

namespace {

GpuVerdict unhealthy(std::string reason) { return {.health = Health::kUnhealthy, .reason = std::move(reason)}; }
GpuVerdict attention(std::string reason) { return {.health = Health::kHealthy, .reason = std::move(reason)}; }

std::optional<GpuVerdict> judge_reach(Reach reach) {
  switch (reach) {
    case Reach::kAnswers: return std::nullopt;
    case Reach::kLost:
      return unhealthy(
          "the driver has lost the device (fallen off the bus): restart the machine; if it comes again, "
          "check seating and power, then replace it");
    case Reach::kNeedsReset:
      return unhealthy("the driver says that the device needs a reset: nvidia-smi --gpu-reset, or restart the machine");
    case Reach::kBlocked:
      return GpuVerdict{.health = Health::kUnknown,
                        .reason =
                            "the operating system keeps Moulin from the device: check the permissions of "
                            "/dev/nvidia* and the device rules of the cgroup"};
    case Reach::kFails:
      return GpuVerdict{.health = Health::kUnknown,
                        .reason = "the driver answers no question about the device: look into the kernel's log"};
  }
  MOULIN_UNREACHABLE();
}

// The last XID of this gravity. One that we do not know counts as kAttention.
std::optional<std::string> newest_xid(const GpuSigns& signs, XidGravity gravity) {
  for (auto xid = signs.xids.rbegin(); xid != signs.xids.rend(); ++xid) {
    std::optional<XidMeaning> meaning = xid_meaning(*xid);
    XidGravity its = meaning ? meaning->gravity : XidGravity::kAttention;
    if (its != gravity) continue;
    if (!meaning) return fmt::format("XID {}, which Moulin does not know: look it up in NVIDIA's XID catalogue", *xid);
    return fmt::format("XID {}, {}: {}", *xid, meaning->text, meaning->to_do);
  }
  return std::nullopt;
}

std::optional<GpuVerdict> judge_recovery(int32_t action) {
  switch (action) {
    case 0: return std::nullopt;
    case 1: return unhealthy("the driver asks for a reset of the device: nvidia-smi --gpu-reset");
    case 2: return unhealthy("the driver asks for a restart of the machine");
    case 3:
      return unhealthy("the driver asks that nothing uses peer-to-peer memory of this device: it is being drained");
    case 4: return unhealthy("the driver asks to drain the device and reset it: nvidia-smi --gpu-reset");
  }
  return unhealthy(fmt::format("the driver asks for recovery action {}: see `nvidia-smi -q`", action));
}

}  // namespace

GpuVerdict judge(const GpuSigns& signs) {
  if (signs.declared) return *signs.declared;
  if (std::optional<GpuVerdict> verdict = judge_reach(signs.reach)) return *verdict;
  if (std::optional<std::string> fatal = newest_xid(signs, XidGravity::kFatal)) return unhealthy(*fatal);
  if (signs.ecc_uncorrected > 0) {
    return unhealthy(
        fmt::format("{} uncorrectable memory errors since the driver was loaded: drain, then reset the "
                    "device; if it comes again, replace it",
                    signs.ecc_uncorrected));
  }
  if (signs.row_remap_failed) return unhealthy("a broken memory row could not be replaced: replace the device");
  if (std::optional<GpuVerdict> verdict = judge_recovery(signs.recovery_action)) return *verdict;
  if (signs.mig_enabled) {
    return {.health = Health::kUnknown,
            .reason =
                "MIG is switched on; Moulin lists MIG instances but does not hand them out yet: "
                "nvidia-smi -mig 0 gives the device back"};
  }
  if (signs.row_remap_pending)
    return attention("a broken memory row waits to be replaced: reset the device when it is free");
  if (std::optional<std::string> xid = newest_xid(signs, XidGravity::kAttention)) return attention(*xid);
  return {};
}

}  // namespace moulin
