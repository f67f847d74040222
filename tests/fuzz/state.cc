// layers: base model
// The bytes of a snapshot, as if their checksum were right. Whatever is decoded is encoded
// so that it is decoded as the same state.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/codec.h"
#include "model/state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moulin;
  Result<State> state = decode<State>(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!state) return 0;
  std::string first = encode(*state);
  Result<State> again = decode<State>(first);
  MOULIN_CHECK(again.has_value());
  MOULIN_CHECK(encode(*again) == first);
  return 0;
}
