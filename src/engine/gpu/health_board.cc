#include "engine/gpu/health_board.h"

#include <algorithm>

namespace moulin {

namespace {

GpuChange change_of(const GpuSample& sample) {
  GpuChange change{.uuid = sample.uuid, .verdict = sample.verdict, .foreign = {}};
  for (const GpuProcess& process : sample.processes) {
    if (!process.ours) change.foreign.push_back(process);
  }
  return change;
}

// Memory and activity of foreign processes move all the time and are no change.
bool differs(const GpuChange& one, const GpuChange& other) {
  return one.verdict != other.verdict ||
         !std::equal(one.foreign.begin(), one.foreign.end(), other.foreign.begin(), other.foreign.end(),
                     [](const GpuProcess& a, const GpuProcess& b) { return a.pid == b.pid && a.name == b.name; });
}

GpuChange nothing_known(const GpuUuid& uuid) { return {.uuid = uuid, .verdict = {}, .foreign = {}}; }

}  // namespace

void HealthBoard::set_readings(std::vector<GpuReading> readings) {
  readings_ = std::move(readings);
  ++pass_;
}

void HealthBoard::add_xid(const GpuUuid& uuid, int32_t xid) {
  std::vector<int32_t>& seen = xids_[uuid];
  if (seen.size() == kXidsKeptMax) seen.erase(seen.begin());
  seen.push_back(xid);
}

GpuSample HealthBoard::judged(const GpuReading& reading) const {
  GpuSample sample = reading.sample;
  GpuSigns signs = reading.signs;
  if (auto found = xids_.find(sample.uuid); found != xids_.end()) signs.xids = sample.xids = found->second;
  sample.verdict = judge(signs);
  if (hang_ && sample.verdict.health != Health::kUnhealthy) {
    sample.verdict = {.health = Health::kUnknown, .reason = *hang_};
  }
  return sample;
}

HealthBoard::Publication HealthBoard::publish() {
  auto samples = std::make_shared<GpuSamples>();
  samples->pass = pass_;
  std::vector<GpuChange> changes;
  std::map<GpuUuid, GpuChange> published;
  for (const GpuReading& reading : readings_) {
    GpuSample sample = judged(reading);
    GpuChange now = change_of(sample);
    auto before = published_.find(sample.uuid);
    if (differs(before == published_.end() ? nothing_known(sample.uuid) : before->second, now)) changes.push_back(now);
    published.emplace(sample.uuid, std::move(now));
    samples->devices.push_back(std::move(sample));
  }
  // A device that is not looked at any more (a simulated one of which nothing is declared) is well again.
  for (const auto& [uuid, before] : published_) {
    if (!published.contains(uuid) && differs(before, nothing_known(uuid))) changes.push_back(nothing_known(uuid));
  }
  published_ = std::move(published);
  return {.samples = std::move(samples), .changes = std::move(changes)};
}

}  // namespace moulin
