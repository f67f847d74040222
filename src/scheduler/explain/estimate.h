// When a workload starts, as far as something makes it certain: a claim, the end of a
// back-off, or the duration limits of what runs. Nothing is guessed.
#pragma once

#include <optional>

#include "scheduler/explain/inquiry.h"

namespace moulin {

struct Estimate {
  std::optional<Instant> start{};
  std::string reason{};  // why there is none; else what makes it so
};

Estimate estimate_start(const Inquiry& inquiry);

}  // namespace moulin
