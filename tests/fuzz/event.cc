// layers: base model
// The first byte is the type of an event, the rest its bytes. Whatever is decoded is
// encoded so that it is decoded as the same event.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/event.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moulin;
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Result<Event> event = decode_event(Instant{}, data[0], bytes);
  if (!event) return 0;
  std::string first = encode_event(*event);
  Result<Event> again = decode_event(Instant{}, data[0], first);
  MOULIN_CHECK(again.has_value());
  MOULIN_CHECK(encode_event(*again) == first);
  return 0;
}
