// What can go wrong in a simulation of the whole server, by name.
//
// Each fault has dice of its own, so that a run without one of them is otherwise much the
// same run: that is what makes a failure small.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/result.h"
#include "base/rng.h"

namespace moulin::sim {

enum class Fault {
  kKill,         // the server ends anywhere, between any two things that it does
  kPowerLoss,    // the machine, too: what was not synced is gone or torn, boot time begins anew
  kDiskFull,     // writes fail for a while
  kSlowCommits,  // commits take seconds
  kLostReport,   // a report comes only when the engine is looked over
  kDoubledReport,
  kLateReport,
  kNodeLoss,      // a node is silent for a while, or for ever
  kUnhealthyGpu,  // a device fails, recovers, or has foreign processes
  kWallStep,      // somebody sets the wall clock
  kClientGone,    // a client is gone before its answer, and asks again with its key
  kBadRequest,    // malformed bodies, forged tokens, unknown names
  kVanished,      // a supervisor dies with its replica
};
inline constexpr size_t kFaultCount = 13;

std::string_view word_of(Fault fault);

// Whether things go wrong, and things happen by themselves.
enum class Weather { kWild, kCalm };

class Faults {
 public:
  explicit Faults(uint64_t seed);

  // "all", "none", or names separated by commas. kInvalid names what is not known.
  static Result<std::vector<Fault>> parse(std::string_view list);
  static std::string text_of(const std::vector<Fault>& faults);
  static std::vector<Fault> all();

  void allow(const std::vector<Fault>& faults);
  bool is_allowed(Fault fault) const { return allowed_[static_cast<size_t>(fault)]; }
  // Nothing goes wrong in a calm.
  void set(Weather weather) { weather_ = weather; }

  // Whether it happens now, in `per_million` of a million cases. Rolls even when it is not
  // allowed, so that the others stay as they are.
  bool strikes(Fault fault, int64_t per_million);
  Rng& dice(Fault fault) { return dice_[static_cast<size_t>(fault)]; }

 private:
  std::array<bool, kFaultCount> allowed_{};
  std::vector<Rng> dice_;
  Weather weather_ = Weather::kWild;
};

}  // namespace moulin::sim
