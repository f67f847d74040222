// The newest look at every device with its verdict, and what changed since the one before.
// Not thread-safe; its owner locks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boundary/gpus.h"
#include "engine/gpu/reading.h"

namespace moulin {

inline constexpr size_t kXidsKeptMax = 64;  // for each device, the oldest go first

class HealthBoard {
 public:
  // The devices, before the first look at them.
  void expect(std::vector<GpuReading> devices) { readings_ = std::move(devices); }
  // Replaces the readings of all devices: another pass.
  void set_readings(std::vector<GpuReading> readings);

  void add_xid(const GpuUuid& uuid, int32_t xid);
  void forget_xids(const GpuUuid& uuid) { xids_.erase(uuid); }
  const std::map<GpuUuid, std::vector<int32_t>>& xids() const { return xids_; }

  // While a sentence is set, every device is kUnknown with it: the driver does not answer,
  // so whatever we knew may have changed. A fatal finding stays unhealthy.
  void set_hang(std::optional<std::string> sentence) { hang_ = std::move(sentence); }

  // Judges all, and says what differs from the last publication. The first one is compared
  // with "healthy, nothing foreign".
  struct Publication {
    std::shared_ptr<const GpuSamples> samples;
    std::vector<GpuChange> changes;
  };
  Publication publish();

 private:
  GpuSample judged(const GpuReading& reading) const;

  std::vector<GpuReading> readings_;
  std::map<GpuUuid, std::vector<int32_t>> xids_;
  std::optional<std::string> hang_;
  int64_t pass_ = 0;
  std::map<GpuUuid, GpuChange> published_;
};

}  // namespace moulin
