#include "engine/gpu/check_gpu.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace moulin {

namespace {

constexpr int kPollsMax = 300;
constexpr auto kPoll = std::chrono::milliseconds(100);

template <class... Arguments>
void print(std::FILE* out, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  fmt::print(out, text, std::forward<Arguments>(arguments)...);
}

template <class T>
std::string or_unknown(const std::optional<T>& value, std::string_view unit) {
  return value ? fmt::format("{}{}", *value, unit) : "unknown";
}

std::string bytes_or_unknown(const std::optional<Bytes>& value) { return value ? to_text(*value) : "unknown"; }

void print_facts(std::FILE* out, const Gpu& gpu, const GpuDetails& details) {
  print(out, "\ndevice {}: {}\n", gpu.index, gpu.model.text);
  print(out, "  product      {}\n", details.product);
  print(out, "  uuid         {}\n", gpu.uuid.text);
  print(out, "  memory       {}, kept by the driver {}, usable {}\n", to_text(gpu.memory), to_text(gpu.reserve),
        to_text(gpu.usable()));
  print(out, "  pci bus      {}\n", details.pci_bus_id.empty() ? "unknown" : details.pci_bus_id);
  print(out, "  numa node    {}\n", or_unknown(details.numa_node, ""));
  print(out, "  nvlink       {}\n", gpu.group.empty() ? "none" : gpu.group);
  print(out, "  mig          {}\n", details.mig_enabled ? "on" : "off");
  for (const MigInstance& instance : details.mig) {
    print(out, "    {} {} {}\n", instance.profile, to_text(instance.memory), instance.uuid.text);
  }
  for (const std::string& missing : details.missing) print(out, "  missing      {}\n", missing);
}

void print_sample(std::FILE* out, const GpuSample& sample) {
  print(out, "  active       {}\n", or_unknown(sample.active_milli, "/1000 of the time"));
  print(out, "  memory used  {}\n", bytes_or_unknown(sample.memory_used));
  print(out, "  temperature  {}\n", or_unknown(sample.celsius, " C"));
  print(out, "  power        {}\n", or_unknown(sample.milliwatts, " mW"));
  print(out, "  ecc          {}\n", or_unknown(sample.ecc_uncorrected, " uncorrectable errors"));
  for (int32_t xid : sample.xids) print(out, "  xid          {}\n", xid);
  for (const GpuProcess& process : sample.processes) {
    print(out, "  process      {} {}, {}, active {}\n", process.pid, process.name, bytes_or_unknown(process.memory),
          or_unknown(process.active_milli, "/1000"));
  }
  print(out, "  verdict      {}{}{}\n", to_text(sample.verdict.health), sample.verdict.reason.empty() ? "" : ": ",
        sample.verdict.reason);
}

std::shared_ptr<const GpuSamples> second_look(const Gpus& gpus, int64_t devices) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  std::shared_ptr<const GpuSamples> samples = gpus.latest();
  for (int i = 0; i < kPollsMax && samples->pass < 2 && devices > 0; ++i) {
    never.wait_for(lock, kPoll);
    samples = gpus.latest();
  }
  return samples;
}

}  // namespace

GpuCheck check_gpu(Gpus& gpus, std::FILE* out) {
  Result<GpuInventory> inventory = gpus.discover();
  if (!inventory) {
    print(out, "{}\n", inventory.error().to_text());
    return GpuCheck::kNoAnswer;
  }
  const Node& node = inventory->nodes.front();
  print(out, "machine {}: {} cores, {} of memory\n", node.name.text, to_text(node.cpu), to_text(node.memory));
  if (!inventory->note.empty()) print(out, "note: {}\n", inventory->note);
  if (inventory->source == GpuSource::kNone) return GpuCheck::kNoGpus;
  print(out, "source {}, driver {}, CUDA up to {}\n", to_text(inventory->source), inventory->driver_version,
        inventory->cuda_version);
  gpus.watch({});
  std::shared_ptr<const GpuSamples> samples = second_look(gpus, static_cast<int64_t>(node.gpus.size()));
  bool all_well = true;
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    GpuDetails details = i < inventory->details.size() ? inventory->details[i] : GpuDetails{.uuid = node.gpus[i].uuid};
    print_facts(out, node.gpus[i], details);
    if (const GpuSample* sample = samples->find(node.gpus[i].uuid)) {
      print_sample(out, *sample);
      all_well = all_well && sample->verdict == GpuVerdict{};
    }
  }
  print(out, "\n{}\n",
        samples->pass < 2 ? "the driver hangs"
        : all_well        ? "all devices are well"
                          : "see the verdicts above");
  if (samples->pass < 2) return GpuCheck::kNoAnswer;
  return all_well ? GpuCheck::kAllWell : GpuCheck::kSomethingIll;
}

}  // namespace moulin
