// Virtual time: what happens when, and the clocks of the machine.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "boundary/clock.h"
#include "server/system_clock.h"

namespace moulin::sim {

// True time, which no clock shows. Tasks of one instant run in the order in which they came.
class Timeline {
 public:
  using Task = std::function<void()>;

  Instant now() const { return now_; }
  void at(Instant when, Task task) { tasks_.emplace(std::max(when, now_), std::move(task)); }
  void after(Duration delay, Task task) { at(now_ + delay, std::move(task)); }
  std::optional<Instant> next() const {
    if (tasks_.empty()) return std::nullopt;
    return tasks_.begin()->first;
  }
  // Runs the first task that is due. False: none is.
  bool run_due() {
    if (tasks_.empty() || tasks_.begin()->first > now_) return false;
    Task task = std::move(tasks_.begin()->second);
    tasks_.erase(tasks_.begin());
    task();
    return true;
  }
  void advance_to(Instant when) { now_ = std::max(now_, when); }

 private:
  Instant now_ = Instant{} + hours(1);
  std::multimap<Instant, Task> tasks_;
};

// The clocks of the machine, as somebody may set them and a boot begins them anew.
class MachineClocks {
 public:
  explicit MachineClocks(const Timeline& timeline) : timeline_(timeline) {}
  ClockReading reading() const {
    return {.boot = timeline_.now() - booted_, .wall = Duration{timeline_.now().us} + wall_shift_};
  }
  void step_wall(Duration by) { wall_shift_ += by; }
  void reboot() {
    booted_ = timeline_.now();
    ++boots_;
  }
  std::string boot_id() const { return "boot-" + std::to_string(boots_); }

 private:
  const Timeline& timeline_;
  Instant booted_{};
  Duration wall_shift_ = hours(400'000);
  int64_t boots_ = 1;
};

// What a server sees of them: as SystemClock, by the same rule.
class VirtualClock final : public Clock {
 public:
  VirtualClock(const MachineClocks& clocks, Instant last, Duration wall_offset)
      : clocks_(clocks), since_boot_(instants_since_boot(last, wall_offset, clocks.reading())) {}
  Instant now() override { return {(clocks_.reading().boot + since_boot_).us}; }
  Duration wall_offset() override { return clocks_.reading().wall - Duration{now().us}; }

 private:
  const MachineClocks& clocks_;
  const Duration since_boot_;
};

}  // namespace moulin::sim
