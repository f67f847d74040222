// The workload file: YAML or JSON to WorkloadSpec and back. docs/workload_file.md
// describes every field for those who write one.
//
// Everything is checked here that can be checked without knowing the state: form, range,
// size, names, UTF-8. Whether the project exists or the request can ever run is the
// core's to say. Errors are kInvalid and name the field, what was given, what is allowed
// and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/workload.h"

namespace moulin {

// Bounds of one workload file.
inline constexpr size_t kArgumentsMax = 1'000;
inline constexpr size_t kCommandBytesMax = 64 << 10;  // all arguments, or the `run` text
inline constexpr size_t kVariablesMax = 500;
inline constexpr size_t kEnvironmentBytesMax = 64 << 10;  // all names and values
inline constexpr size_t kTagsMax = 64;
inline constexpr size_t kTagBytesMax = 256;  // one value
inline constexpr size_t kPoolsMax = 16;
inline constexpr size_t kModelsMax = 16;
inline constexpr size_t kPathBytesMax = 4'095;
inline constexpr int64_t kPriorityMax = 1'000;  // and its negative
inline constexpr int64_t kRetriesMax = 100;
inline constexpr Duration kBackOffMax = hours(1);
inline constexpr int64_t kArrayMax = 10'000;  // elements
inline constexpr int64_t kArrayIndexMax = 999'999'999;
inline constexpr size_t kArrayBytesMax = 64 << 20;  // of all elements' specs together

// What a document leaves open.
struct WorkloadDefaults {
  std::string name{};  // when the document has none; empty: it must have one
  TreeName project = kDefaultProject;
  std::string folder{};  // absolute; a relative `folder` is below it; may be empty
};

// What is submitted: a spec, and where it comes from.
struct WorkloadElement {
  WorkloadSpec spec;
  Origin origin;
  bool operator==(const WorkloadElement&) const = default;
};

// One workload. A document with `array` is refused here. Without folder in both the
// document and the defaults, the spec's folder is empty: the server chooses one. Of
// `snapshot` nothing is read: the server makes it.
Result<WorkloadSpec> read_workload(const Json& document, const WorkloadDefaults& defaults);

// One workload or, with `array: 0-99`, its elements in order of index: element 7 of
// "sweep" is called sweep-7, has MOULIN_ARRAY_INDEX=7 in its environment and an origin of
// kind kArray.
Result<std::vector<WorkloadElement>> read_workloads(const Json& document, const WorkloadDefaults& defaults);

// The document of a spec: what equals its default is left out, but for kind, name,
// project and class. Reads back as the same spec, except for `snapshot` and for the
// variables that Moulin sets (MOULIN_...), which are no part of a document.
Json write_workload(const WorkloadSpec& spec);

}  // namespace moulin
