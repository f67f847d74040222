// The devices, which fail and recover while servers come and go.
#pragma once

#include <map>

#include "boundary/gpus.h"

namespace moulin::sim {

// What is true of the devices, and how a server learns of it.
class Hardware {
 public:
  Hardware();

  const std::vector<Node>& nodes() const { return nodes_; }
  const Gpu* find(const GpuUuid& uuid) const;
  GpuInventory inventory() const;

  // The device is now so; the server that watches is told.
  void change(const GpuUuid& uuid, const GpuVerdict& verdict, int64_t foreign_processes);
  void heal();

  // The Gpus of one server; ends with it.
  std::unique_ptr<Gpus> gpus();

 private:
  friend class VirtualGpus;
  Gpu* find_own(const GpuUuid& uuid);

  std::vector<Node> nodes_;
  std::function<void(std::vector<GpuChange>)> on_change_;  // of the server that watches
};

}  // namespace moulin::sim
