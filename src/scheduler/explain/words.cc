#include "scheduler/explain/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace moulin {

std::string gpu_words(Share share) { return fmt::format("{} GPU{}", to_text(share), share.milli > 1000 ? "s" : ""); }

std::string amount_words(Resource resource, int64_t amount) {
  switch (resource) {
    case Resource::kGpu: return gpu_words({amount});
    case Resource::kCpu: return to_text(CpuMilli{amount}) + " CPU";
    case Resource::kMemory: return to_text(Bytes{amount}) + " of memory";
  }
  MOULIN_UNREACHABLE();
}

std::string key_words(const QuotaKey& key) {
  if (key.model.empty()) return fmt::format("in pool {}", key.pool.text);
  return fmt::format("of {} in pool {}", key.model.text, key.pool.text);
}

std::string count_words(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string wait_words(Duration duration) {
  int64_t whole = (duration.us + seconds(1).us - 1) / seconds(1).us;
  return to_text(seconds(std::max<int64_t>(whole, 1)));
}

std::string workload_words(const Workload& workload) {
  return workload.spec.name.empty() ? to_text(workload.id)
                                    : fmt::format("{} ({})", to_text(workload.id), workload.spec.name);
}

std::string request_words(const Resources& resources) {
  const GpuRequest& gpu = resources.gpu;
  switch (gpu.form) {
    case GpuForm::kNone: return "no GPU";
    case GpuForm::kDevices: return gpu_words(gpu.share * gpu.count);
    case GpuForm::kMemory: return fmt::format("{} of GPU memory", to_text(gpu.memory));
    case GpuForm::kShare:
      if (gpu.count == 1) return gpu_words(gpu.share);
      return fmt::format("{} of each of {} GPUs", to_text(gpu.share), gpu.count);
  }
  MOULIN_UNREACHABLE();
}

}  // namespace moulin
