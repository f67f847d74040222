// The readers of single fields of a workload file: the steps of workload_file.cc.
// Each reads the member of that name from `reader` into `spec`, and leaves the default
// when it is absent.
#pragma once

#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "model/workload_file.h"

namespace moulin::workload_fields {

Status read_run(const ObjectReader& reader, WorkloadSpec& spec);
Status read_resources(const ObjectReader& reader, WorkloadSpec& spec);
Status read_replicas(const ObjectReader& reader, WorkloadSpec& spec);
Status read_checkpoint(const ObjectReader& reader, WorkloadSpec& spec);
Status read_retry(const ObjectReader& reader, WorkloadSpec& spec);
Status read_limits(const ObjectReader& reader, WorkloadSpec& spec);
Status read_tags(const ObjectReader& reader, WorkloadSpec& spec);
Status read_pools(const ObjectReader& reader, WorkloadSpec& spec);
// After read_replicas: a gang's rendezvous is Moulin's.
Status read_environment(const ObjectReader& reader, WorkloadSpec& spec);
Status read_folder(const ObjectReader& reader, const WorkloadDefaults& defaults, WorkloadSpec& spec);

struct DurationRange {
  Duration min{};
  Duration max = kDurationMax;
};
// The member `name`, or `fallback` when it is absent.
Result<Duration> read_duration(const ObjectReader& reader, std::string_view name, DurationRange range,
                               Duration fallback);

}  // namespace moulin::workload_fields
