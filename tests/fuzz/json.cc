// layers: base
// What parse_json takes, write_json writes so that it is read back as the same value.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moulin;
  Result<Json> value = parse_json({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  Result<Json> again = parse_json(write_json(*value));
  MOULIN_CHECK(again && *again == *value);
  Result<Json> pretty = parse_json(write_json_pretty(*value));
  MOULIN_CHECK(pretty && *pretty == *value);
  return 0;
}
