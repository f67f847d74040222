// Arrays: a hundred of one workload.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/workload_file.h"

namespace moulin {

// Both ends belong to it; 0 <= first <= last <= kArrayIndexMax, at most kArrayMax wide.
struct ArrayRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t count() const { return last - first + 1; }
  bool operator==(const ArrayRange&) const = default;
};

// Stands for the index of an element in a path.
inline constexpr std::string_view kIndexMark = "{index}";

// "0-99".
Result<ArrayRange> read_array_range(const Json& value, std::string_view path);

// Bytes that one element takes, roughly: what is repeated for each.
size_t element_bytes(const WorkloadSpec& spec);

// The elements as read_workloads() describes them. kInvalid: a name that gets too long,
// or more than kArrayBytesMax of specs.
Result<std::vector<WorkloadElement>> expand_array(const WorkloadSpec& spec, ArrayRange range);

}  // namespace moulin
