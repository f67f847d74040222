// layers: base model
// Workload files as a user may send them: never a crash, and what is accepted is written
// so that it reads back as the same workload.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/yaml.h"
#include "model/workload_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moulin;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Result<Json> document = text.starts_with('{') ? parse_json(text) : parse_yaml(text);
  if (!document) return 0;
  Result<std::vector<WorkloadElement>> elements = read_workloads(*document, {.name = "unnamed", .folder = "/srv"});
  if (!elements) {
    MOULIN_CHECK(!elements.error().message.empty() && !elements.error().field.empty());
    return 0;
  }
  MOULIN_CHECK(!elements->empty() && elements->size() <= static_cast<size_t>(kArrayMax));
  WorkloadSpec spec = elements->front().spec;
  spec.environment.erase("MOULIN_ARRAY_INDEX");
  Result<WorkloadSpec> again = read_workload(parse_json(write_json(write_workload(spec))).value(), {});
  MOULIN_CHECK(again && *again == spec);
  return 0;
}
