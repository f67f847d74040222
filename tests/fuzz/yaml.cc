// layers: base
// parse_yaml never throws or crashes, and what it takes is a value that JSON can hold.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moulin;
  Result<Json> value = parse_yaml({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  Result<Json> again = parse_json(write_json(*value));
  MOULIN_CHECK(again && *again == *value);
  return 0;
}
