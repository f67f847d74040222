// layers: base
// Amounts in text: what is read is not negative, and its text is read back as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/instant.h"
#include "base/share.h"

namespace moulin {
namespace {

template <class Amount>
void check_round_trip(Result<Amount> (*parse)(std::string_view), std::string_view text) {
  Result<Amount> amount = parse(text);
  if (!amount) return;
  MOULIN_CHECK(*amount >= Amount{});
  Result<Amount> again = parse(to_text(*amount));
  MOULIN_CHECK(again && *again == *amount);
}

}  // namespace
}  // namespace moulin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moulin;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  check_round_trip<Duration>(parse_duration, text);
  check_round_trip<Bytes>(parse_bytes, text);
  check_round_trip<CpuMilli>(parse_cpu, text);
  Result<int64_t> milli = parse_milli(text);
  MOULIN_CHECK(!milli || *milli >= 0);
  return 0;
}
