#include "cli/units.h"

#include <fmt/format.h>

#include <array>

namespace moulin::cli {

namespace {

struct Unit {
  Duration size;
  char letter;
};
constexpr std::array<Unit, 4> kUnits{{{hours(24), 'd'}, {hours(1), 'h'}, {minutes(1), 'm'}, {seconds(1), 's'}}};

}  // namespace

std::string brief(Duration duration) {
  for (size_t i = 0; i < kUnits.size(); ++i) {
    if (duration < kUnits[i].size) continue;
    std::string text = fmt::format("{}{}", duration.us / kUnits[i].size.us, kUnits[i].letter);
    int64_t rest = i + 1 < kUnits.size() ? duration.us % kUnits[i].size.us / kUnits[i + 1].size.us : 0;
    // Seconds beside minutes say little after the first ten minutes.
    if (kUnits[i].letter == 'm' && duration >= minutes(10)) rest = 0;
    if (rest > 0) text += fmt::format(" {}{}", rest, kUnits[i + 1].letter);
    return text;
  }
  return "0s";
}

std::string elapsed(WallTime from, WallTime to) { return brief({to.us - from.us}); }

std::string clock_text(WallTime time, const View& view) {
  auto local = [&](WallTime at) { return to_text(WallTime{at.us + view.utc_offset.us}); };
  std::string text = local(time);
  if (text.substr(0, 10) == local(view.now).substr(0, 10)) return text.substr(11, 8);
  return text.substr(0, 10) + " " + text.substr(11, 5);
}

std::string relative_text(WallTime time, const View& view) {
  std::string clock = clock_text(time, view);
  if (time > view.now) return fmt::format("in {} ({})", elapsed(view.now, time), clock);
  return fmt::format("{} ago ({})", elapsed(time, view.now), clock);
}

std::string gpus_text(Share share) {
  bool is_one = share.milli > 0 && share <= kWholeDevice;
  return to_text(share) + (is_one ? " GPU" : " GPUs");
}

std::string amount_text(int64_t amount, Resource resource) {
  switch (resource) {
    case Resource::kGpu: return to_text(Share{amount});
    case Resource::kCpu: return to_text(CpuMilli{amount});
    case Resource::kMemory: return rough_bytes({amount});
  }
  return "";
}

std::string rough_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  size_t name = 0;
  int64_t size = 1;
  while (name + 1 < kNames.size() && bytes.count / size >= 1024) {
    size *= 1024;
    ++name;
  }
  int64_t tenths = bytes.count / size * 10 + bytes.count % size * 10 / size;
  if (tenths % 10 == 0 || tenths >= 1000) return fmt::format("{}{}", tenths / 10, kNames[name]);
  return fmt::format("{}.{}{}", tenths / 10, tenths % 10, kNames[name]);
}

std::string gpu_seconds_text(GpuTime time) {
  int64_t tenths = time.micro / 100'000;
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string counted(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : thing.ends_with('s') ? "es" : "s");
}

Result<WallTime> parse_since(std::string_view text, const View& view) {
  if (Result<Duration> before = parse_duration(text)) return WallTime{view.now.us - before->us};
  if (Result<WallTime> time = parse_wall_time(text)) return *time;
  return Error{.code = Code::kInvalid,
               .message = "is no time",
               .field = "--since",
               .given = std::string(text),
               .allowed = "how long ago, such as 10m or 2h, or a time such as 2026-03-01T09:30:00Z"};
}

}  // namespace moulin::cli
