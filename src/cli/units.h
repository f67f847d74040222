// Amounts and times as people read them. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/share.h"
#include "cli/view.h"
#include "model/quota.h"
#include "model/workload.h"

namespace moulin::cli {

// "0s", "45s", "12m", "3h 12m", "2d 4h": the two largest units, rounded down.
std::string brief(Duration duration);
// Time from `from` to `to`; a negative one is "0s".
std::string elapsed(WallTime from, WallTime to);

// "14:03:07" today, else "2026-03-01 14:03", in the local time zone.
std::string clock_text(WallTime time, const View& view);
// "in 5m (14:03:07)" or "3m ago (14:03:07)".
std::string relative_text(WallTime time, const View& view);

// "0.25 GPU", "2 GPUs".
std::string gpus_text(Share share);
// Of quota and its changes: "2.5" devices, "4" cores, "16GiB".
std::string amount_text(int64_t amount, Resource resource);
// Bytes with at most one digit after the point, rounded down: "79.2GiB".
std::string rough_bytes(Bytes bytes);
// "1234.5": GPU-seconds with one digit, rounded down.
std::string gpu_seconds_text(GpuTime time);

// "1 workload", "3 workloads", "2 processes".
std::string counted(int64_t count, std::string_view thing);

// A time for --since: "10m" is ten minutes before now; RFC 3339 is taken as it is.
Result<WallTime> parse_since(std::string_view text, const View& view);

}  // namespace moulin::cli
