// GPUs that do not exist, for demos, tests and planning.
//
// They are healthy and idle, unless
//   - the engine says how busy they are (SimulatedGpusOptions::activity), or
//   - a file DATA/simulated/<uuid>.json declares something:
//       {"health": "unhealthy", "reason": "..."}      a verdict, word for word
//       {"xids": [79]}                                as if the driver had reported it
//       {"foreign": [{"pid": 4711, "name": "python", "memory": "20GiB"}]}
//       {"active": 0.85}                              of the device's time
//     The parts may stand together. A file that is wrong shows its error as the device's
//     reason. Deleting the file takes everything back.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "boundary/gpus.h"
#include "engine/gpu/health_board.h"
#include "engine/gpu/simulate_spec.h"

namespace moulin {

inline constexpr size_t kDeclarationsMax = 1000;  // files read in one look
inline constexpr Bytes kDeclarationBytesMax = kibibytes(64);

struct SimulatedGpusOptions {
  std::vector<SimulatedNode> nodes;
  std::string data_folder{};  // empty: no declarations
  Duration period = seconds(1);
  // Busy devices and the thousandths of their time in which they work. Called on our
  // thread; empty: all idle.
  std::function<std::map<GpuUuid, int32_t>()> activity{};
};

class SimulatedGpus final : public Gpus {
 public:
  explicit SimulatedGpus(SimulatedGpusOptions options);
  ~SimulatedGpus() override;

  Result<GpuInventory> discover() override;
  void watch(GpuWatcher watcher) override;
  std::shared_ptr<const GpuSamples> latest() const override;
  std::function<std::shared_ptr<const GpuSamples>()> looks() const override;
  void forget_faults(const GpuUuid& uuid) override;  // deletes the declaration

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The reading that a declaration stands for. kInvalid names the field.
Result<GpuReading> parse_declaration(const GpuUuid& uuid, std::string_view text);

// All declarations of devices that exist in `nodes`, by UUID. A broken one becomes a
// healthy reading whose reason is the error.
std::map<GpuUuid, GpuReading> read_declarations(const std::string& folder, const std::vector<SimulatedNode>& nodes);

}  // namespace moulin
