#include "engine/gpu/xid.h"

#include <algorithm>
#include <array>

namespace moulin {

namespace {

constexpr std::string_view kReset = "drain, then reset the device (nvidia-smi --gpu-reset) or restart the machine";
constexpr std::string_view kReplace =
    "drain, reset the device and run a diagnosis; if it comes again, replace the device";
constexpr std::string_view kReboot =
    "restart the machine; if it comes again, check seating, power and cooling, then replace";
constexpr std::string_view kLater = "reset the device when it is free";

using enum XidGravity;

constexpr auto kXids = std::to_array<XidMeaning>({
    {8, kApplication, "a program's work took too long and was stopped", ""},
    {13, kApplication, "exception in a program's kernel (usually an index out of bounds)", ""},
    {31, kApplication, "a program accessed memory that is not its own", ""},
    {32, kApplication, "a program's command stream was invalid", ""},
    {43, kApplication, "a program's work was stopped after its own error", ""},
    {45, kApplication, "a program's work was cleaned up (it ended, or an earlier error ended it)", ""},
    {46, kFatal, "the device stopped processing", kReset},
    {48, kFatal, "uncorrectable memory error (double-bit ECC)", kReplace},
    {61, kFatal, "internal microcontroller stopped at a breakpoint", kReset},
    {62, kFatal, "internal microcontroller halted", kReset},
    {63, kAttention, "a broken memory row is marked to be replaced at the next reset", kLater},
    {64, kFatal, "a broken memory row could not be replaced", kReplace},
    {68, kApplication, "exception in a program's video work", ""},
    {69, kApplication, "a program used the graphics engine wrongly", ""},
    {74, kFatal, "NVLink error", "drain, reset all devices on the link; if it comes again, check the link or replace"},
    {79, kFatal, "the device has fallen off the bus", kReboot},
    {92, kAttention, "many correctable memory errors", "run a diagnosis when the device is free"},
    {94, kFatal, "uncorrectable memory error, contained to one program", kReset},
    {95, kFatal, "uncorrectable memory error, not contained: any program may hold wrong data", kReplace},
    {109, kApplication, "a program did not yield to another in time", ""},
    {110, kFatal, "security fault in the device", kReset},
    {119, kFatal, "the device's own processor (GSP) did not answer in time", kReset},
    {120, kFatal, "the device's own processor (GSP) failed", kReset},
    {121, kAttention, "corrected error on the link to the processor (C2C)", kLater},
    {136, kAttention, "NVLink training failed", "reset the devices on the link when they are free"},
    {140, kFatal, "uncorrectable memory error that was not handled", kReset},
    {143, kFatal, "the device could not be initialised", kReboot},
    {154, kAttention, "the driver changed what it asks for to recover", "see `nvidia-smi -q` for the recovery action"},
});

}  // namespace

std::span<const XidMeaning> known_xids() { return kXids; }

std::optional<XidMeaning> xid_meaning(int32_t number) {
  auto found = std::lower_bound(kXids.begin(), kXids.end(), number,
                                [](const XidMeaning& meaning, int32_t wanted) { return meaning.number < wanted; });
  if (found == kXids.end() || found->number != number) return std::nullopt;
  return *found;
}

}  // namespace moulin
