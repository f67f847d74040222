#include "shim/end_contract.h"

#include <algorithm>

#include <fmt/format.h>

#include "shim/log_format.h"

namespace moulin {

EndContract::Actions EndContract::ask(ShimEndReason reason, Duration grace, Instant now) {
  bool first = !reason_;
  bool stronger = first || reason > *reason_;
  Instant until = now + std::clamp(grace, Duration{}, kDurationMax);
  bool nearer = !deadline_ || until < *deadline_;
  if (killed_ || (!stronger && !nearer)) return {};
  if (stronger) reason_ = reason;
  if (nearer) deadline_ = until;
  Actions actions{.write_flag = true, .terminate = first && reason != ShimEndReason::kKill};
  if (reason == ShimEndReason::kKill) actions.kill = kill().kill;
  return actions;
}

EndContract::Actions EndContract::tick(Instant now) {
  if (killed_ || !deadline_ || now < *deadline_) return {};
  return kill();
}

EndContract::Actions EndContract::kill() {
  killed_ = true;
  return {.kill = true};
}

std::string flag_text(ShimEndReason reason, Duration left, int64_t wall_now_us) {
  return fmt::format("{{\"reason\":\"{}\",\"grace_seconds\":{},\"deadline\":\"{}\"}}\n", to_text(reason),
                     left.us / 1'000'000, time_text(wall_now_us + left.us));
}

}  // namespace moulin
