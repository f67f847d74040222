// What GPUs there are, what they are doing, and whether they are well.
//
// Three things stand behind this interface: real devices through the driver's library,
// simulated ones (`moulin up --simulate`), and none at all. The server treats them alike
// but shows GpuInventory::source in every output.
//
// Nothing here blocks on the driver for longer than discover() says; a driver that hangs
// turns verdicts into kUnknown and never holds up a caller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"
#include "model/names.h"
#include "model/node.h"

namespace moulin {

// What the server does about a device (the words are those of model/node.h):
//   healthy, no reason    use it
//   healthy, with reason  use it and show the reason: it wants maintenance, but works
//   unknown               start nothing new on it, leave what runs: we cannot judge it now
//   unhealthy             drain it
struct GpuVerdict {
  Health health = Health::kHealthy;
  std::string reason{};  // a sentence for a person, with what to do; never empty unless healthy
  bool operator==(const GpuVerdict&) const = default;
};

// One hardware partition of a device that has MIG switched on.
struct MigInstance {
  GpuUuid uuid;         // "MIG-..."
  std::string profile;  // "1g.10gb"
  Bytes memory;
  bool operator==(const MigInstance&) const = default;
};

// What people ask about a device and no decision needs. Beside it stands the Gpu of its
// Node (model/node.h) with the same UUID.
struct GpuDetails {
  GpuUuid uuid;
  std::string product{};     // the name exactly as the driver gives it
  std::string pci_bus_id{};  // "0000:3b:00.0"; empty when unknown
  std::optional<int32_t> numa_node{};
  bool mig_enabled = false;
  std::vector<MigInstance> mig{};
  std::vector<std::string> missing{};  // facts that the driver did not give, one sentence each
  bool operator==(const GpuDetails&) const = default;
};

enum class GpuSource { kNone, kDriver, kSimulated };
template <>
inline constexpr auto kWords<GpuSource> = std::to_array<std::string_view>({"none", "driver", "simulated"});

struct GpuInventory {
  GpuSource source = GpuSource::kNone;
  std::string driver_version{};  // "570.86.15"; empty unless kDriver
  std::string cuda_version{};    // "12.8"; the highest that the driver serves
  std::string note{};            // why there are no GPUs, for `moulin up` and `doctor`
  // One when real or none, the local machine (without GPUs when there are none); ordered
  // by name. Health is as of now; pool, labels and mode are left at their defaults.
  std::vector<Node> nodes;
  std::vector<GpuDetails> details{};  // of real devices, in the order of nodes[0].gpus
  bool operator==(const GpuInventory&) const = default;
};

// A process that holds a context on a device.
struct GpuProcess {
  int64_t pid = 0;     // in the PID namespace of the driver, usually the host's
  std::string name{};  // filled for foreign ones only; empty when unknown
  std::optional<Bytes> memory{};
  std::optional<int32_t> active_milli{};  // of the device's time, 0 to 1000
  // Device time in which it worked since it was first seen here, summed over all looks.
  // Where the driver tells the device's activity only, equal parts of that.
  std::optional<Duration> active{};
  bool ours = false;
  bool operator==(const GpuProcess&) const = default;
};

// One look at one device. What the driver does not tell is empty, never zero.
struct GpuSample {
  GpuUuid uuid;
  GpuVerdict verdict;
  std::optional<int32_t> active_milli{};  // time with work on the device, 0 to 1000
  std::optional<Bytes> memory_used{};     // by processes, without the driver's reserve
  std::optional<int32_t> celsius{};
  std::optional<int64_t> milliwatts{};
  std::optional<int64_t> ecc_uncorrected{};  // since the driver was loaded or the device reset
  std::vector<int32_t> xids{};               // seen since the machine started, newest last, at most 64
  bool processes_known = false;              // false: the driver does not list processes
  std::vector<GpuProcess> processes{};       // by pid

  // Memory that processes outside Moulin hold.
  Bytes foreign_memory() const;
  bool has_foreign() const;
  bool operator==(const GpuSample&) const = default;
};

// Tells one look from the next.
struct GpuSamples {
  int64_t pass = 0;  // 0: nothing was looked at yet
  // In the order of the inventory. Simulated devices without activity and without a
  // declaration are left out: they are healthy and idle.
  std::vector<GpuSample> devices;
  const GpuSample* find(const GpuUuid& uuid) const;  // linear; nullptr when absent
};

// A device whose verdict changed, or on which the set of foreign processes did.
struct GpuChange {
  GpuUuid uuid;
  GpuVerdict verdict;
  std::vector<GpuProcess> foreign;  // now
  bool operator==(const GpuChange&) const = default;
};

// What the owner of a Gpus gives it. Both functions are called on threads of the Gpus, not
// at the same time as its destructor returns and never after; they must be quick and must
// not call back into the Gpus.
struct GpuWatcher {
  // Does this process belong to a workload of ours? Asked for every process on a device
  // on every look, and again later: a process may be ours before the engine knows it.
  std::function<bool(int64_t pid)> is_ours;
  // At least one change, in the order of the inventory. The first look is compared with
  // "healthy, nothing foreign", so a device that starts out ill is reported.
  std::function<void(std::vector<GpuChange>)> on_change;
};

// Thread-safe. Life: discover once, then watch once, then anything, then destroy.
class Gpus {
 public:
  virtual ~Gpus() = default;

  // Blocks for at most a minute (loading a driver can take seconds per device). No
  // driver or no device is a normal answer with source kNone and a note.
  // kUnavailable: the driver did not answer in time.
  virtual Result<GpuInventory> discover() = 0;

  // Starts looking, about once a second, until destruction.
  virtual void watch(GpuWatcher watcher) = 0;

  // The newest look. Never blocks, never nullptr.
  virtual std::shared_ptr<const GpuSamples> latest() const = 0;

  // The same as a function, which stays valid when the Gpus is gone (and then gives the
  // last look). For those who may outlive it.
  virtual std::function<std::shared_ptr<const GpuSamples>()> looks() const = 0;

  // An administrator says that the device was repaired or reset: forget its XIDs. The
  // verdict follows with the next look.
  virtual void forget_faults(const GpuUuid& uuid) = 0;
};

}  // namespace moulin
