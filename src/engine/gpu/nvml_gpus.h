// Real devices, through the driver's library.
//
// Three threads, so that a driver that hangs stops none but its own:
//   driver     loads, lists and looks at the devices, once a period
//   events     waits for XIDs
//   publisher  never calls the library: judges, notices hangs, tells the watcher
// A thread that is stuck inside the library when a NvmlGpus is destroyed is left behind
// with everything that it may still touch; that is the only leak, and a small one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/instant.h"
#include "boundary/gpus.h"
#include "engine/gpu/nvml.h"

namespace moulin {

struct NvmlGpusOptions {
  std::string library = kNvmlLibrary;  // a path in tests
  std::string sys_folder = "/sys";
  std::string proc_folder = "/proc";
  std::string data_folder{};     // where XIDs are remembered; empty: nowhere
  Duration period = seconds(1);  // from the end of a look to the next
  Duration event_wait = milliseconds(500);
  Duration publish_tick = seconds(1);  // how often hangs are looked for
  Duration call_bound = seconds(20);   // a call that takes longer hangs
  Duration load_bound = seconds(60);   // the same for discover()
  Duration stop_bound = seconds(5);    // how long destruction waits for each thread
  std::function<Instant()> clock{};    // for call_bound and activity; empty: the machine's
};

class NvmlGpus final : public Gpus {
 public:
  // Loads the library but does not call it. kNotFound: there is none on this machine.
  static Result<std::unique_ptr<NvmlGpus>> open(NvmlGpusOptions options);
  ~NvmlGpus() override;

  Result<GpuInventory> discover() override;
  void watch(GpuWatcher watcher) override;
  std::shared_ptr<const GpuSamples> latest() const override;
  std::function<std::shared_ptr<const GpuSamples>()> looks() const override;
  void forget_faults(const GpuUuid& uuid) override;

 private:
  struct Shared;
  explicit NvmlGpus(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace moulin
