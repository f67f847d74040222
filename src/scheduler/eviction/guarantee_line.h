// What a project or department holds above its guarantee.
//
// A guarantee protects an amount, not workloads by name: it is filled by production,
// class, priority and age, in this order; that of a department first by what is inside the
// guarantees below it. What lies above the line may be taken by others; a workload that
// crosses the line may be taken whole. Workloads with GPUs are measured in GPU, others in
// CPU, in the pool in which they run.
#pragma once

#include <map>

#include "scheduler/eviction/unit.h"

namespace moulin {

// The key in which a live workload is measured: of its first replica that holds a place.
QuotaKey measured_in(const Overlay& overlay, const Workload& workload);

class GuaranteeLine {
 public:
  // Of the project whose path it is; what leaves is not counted. The overlay must outlive it.
  GuaranteeLine(const Overlay& overlay, const TreePath& path, const Departures& departures);
  // Of a department, over the lines of its children.
  GuaranteeLine(const Overlay& overlay, const TreePath& path, const std::vector<const GuaranteeLine*>& below);

  // This replica, which was counted, was asked to leave.
  void depart(const ReplicaRef& ref);

  // Whether some of the workload is above the line when `gone` has left, too. Requires a
  // workload that stays; `gone` holds none that departed before.
  bool is_above(WorkloadId workload, const Departures& gone) const;

  // The guarantee that protects it, and what stands in it up to this workload.
  struct Position {
    QuotaKey key{};
    int64_t guaranteed = 0;
    int64_t up_to = 0;
  };
  Position position(WorkloadId workload, const Departures& gone) const;

 private:
  struct Entry {
    QuotaKey key{};
    int64_t amount = 0;
    int64_t up_to = 0;  // held by it and those before it
    size_t place = 0;   // in the order
  };
  void add(const TreePath& path, WorkloadId id, Entry entry);
  // What the replica holds of the key, when it stands at or before that place; else 0.
  int64_t amount_before(const ReplicaRef& ref, const Entry& entry) const;

  const Overlay& overlay_;
  std::map<WorkloadId, Entry> entries_;
  std::map<QuotaKey, int64_t> totals_;
  std::map<QuotaKey, int64_t> guaranteed_;
};

}  // namespace moulin
