// What the driver's error numbers (XIDs) mean for a device. The table is docs/gpus.md's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace moulin {

enum class XidGravity {
  kApplication,  // the program did something wrong, or was ended; the device is well
  kAttention,    // the device works, but wants a reset or a look when it is free
  kFatal,        // the device must not be used until it is reset, or at all
};

struct XidMeaning {
  int32_t number = 0;
  XidGravity gravity = XidGravity::kApplication;
  std::string_view text;   // "GPU has fallen off the bus"
  std::string_view to_do;  // "restart the machine; ..."; empty for application faults
};

// All that we know, by number.
std::span<const XidMeaning> known_xids();

// Nothing for a number that is not in the table: treat it as kAttention, because it is
// reported as critical and we cannot say more.
std::optional<XidMeaning> xid_meaning(int32_t number);

}  // namespace moulin
