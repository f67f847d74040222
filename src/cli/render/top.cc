#include "cli/render/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/columns.h"
#include "cli/render/workloads.h"
#include "cli/table.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

constexpr size_t kDevicesOneByOne = 32;
constexpr size_t kUnlimited = SIZE_MAX;
constexpr int64_t kWholeMilli = 1000;

// Activity of some devices, of which not all may be measured.
struct Activity {
  int64_t sum_milli = 0;
  int64_t measured = 0;
  void add(const wire::Gpu& gpu) {
    if (!gpu.active_milli) return;
    sum_milli += *gpu.active_milli;
    ++measured;
  }
  std::string text() const { return measured > 0 ? fmt::format("{}%", sum_milli / measured / 10) : ""; }
};

Share held_of(const wire::Gpu& gpu) { return Share{kWholeMilli - gpu.free_milli.milli}; }

// Held and hardly used is what somebody should look at.
Ink ink_of(const wire::Gpu& gpu) {
  constexpr int64_t kHardly = 50;
  if (gpu.health == Health::kUnhealthy) return Ink::kRed;
  if (gpu.holders.empty()) return Ink::kDim;
  return gpu.active_milli && *gpu.active_milli < kHardly ? Ink::kYellow : Ink::kGreen;
}

std::string holders_of(const wire::Gpu& gpu) {
  std::vector<std::string> names;
  for (const wire::GpuHolder& holder : gpu.holders) {
    std::string name = holder.name.value_or(to_text(holder.workload));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);  // one of its replicas
  }
  if (gpu.health == Health::kUnhealthy) names.push_back("unhealthy");
  if (gpu.foreign_processes > 0) names.push_back(counted(gpu.foreign_processes, "foreign process"));
  return join(names, ", ");
}

struct Section {
  Table table;
  size_t left_out = 0;
};

std::string text_of(const Section& section, std::string_view thing, const View& view) {
  std::string text = section.table.text(view);
  if (section.left_out > 0) text += fmt::format("and {} more {}\n", section.left_out, thing);
  return text;
}

Section devices_section(const std::vector<wire::Node>& nodes, size_t rows_max) {
  Section section{.table = Table({{"NODE"},
                                  {"GPU", Align::kRight},
                                  {"MODEL"},
                                  {"HELD", Align::kRight},
                                  {"ACTIVE", Align::kRight},
                                  {"MEMORY FREE", Align::kRight},
                                  {"TEMP", Align::kRight},
                                  {"POWER", Align::kRight},
                                  {"HELD BY"}})};
  size_t rows = 0;
  auto measured = [](const std::optional<int64_t>& value, int64_t divisor, std::string_view unit) {
    return value ? fmt::format("{}{}", *value / divisor, unit) : "";
  };
  for (const wire::Node& node : nodes) {
    for (const wire::Gpu& gpu : node.gpus) {
      if (rows++ >= rows_max) {
        ++section.left_out;
        continue;
      }
      section.table.add({{node.name},
                         {fmt::format("{}", gpu.index)},
                         {gpu.model},
                         {to_text(held_of(gpu)), ink_of(gpu)},
                         {measured(gpu.active_milli, 10, "%"), ink_of(gpu)},
                         {rough_bytes(gpu.free_memory_bytes)},
                         {measured(gpu.celsius, 1, "C")},
                         {measured(gpu.milliwatts, 1000, "W")},
                         {holders_of(gpu)}});
    }
  }
  return section;
}

struct NodeLine {
  const wire::Node* node = nullptr;
  Share held{};
  Activity activity{};
};

// The fullest first, then by name: what is left out is free.
Section nodes_section(const std::vector<wire::Node>& nodes, size_t rows_max) {
  std::vector<NodeLine> lines;
  for (const wire::Node& node : nodes) {
    NodeLine line{.node = &node};
    for (const wire::Gpu& gpu : node.gpus) {
      line.held += held_of(gpu);
      line.activity.add(gpu);
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end(), [](const NodeLine& a, const NodeLine& b) {
    return a.held != b.held ? a.held > b.held : a.node->name < b.node->name;
  });
  Section section{.table =
                      Table({{"NODE"}, {"GPUS", Align::kRight}, {"HELD", Align::kRight}, {"ACTIVE", Align::kRight}})};
  section.left_out = lines.size() - std::min(lines.size(), rows_max);
  lines.resize(lines.size() - section.left_out);
  for (const NodeLine& line : lines) {
    section.table.add(
        {{line.node->name}, {fmt::format("{}", line.node->gpus.size())}, {to_text(line.held)}, {line.activity.text()}});
  }
  return section;
}

// Of what it held, the part in which the devices worked; nothing before the first report.
std::string used_text(const wire::WorkloadSummary& workload) {
  int64_t held = workload.held_gpu_seconds.micro;
  int64_t active = workload.gpu_active_seconds.us;
  if (held <= 0 || active <= 0) return "";
  return fmt::format("{}%", std::min<int64_t>(100, active / std::max<int64_t>(1, held / 100)));
}

Section workloads_section(std::vector<wire::WorkloadSummary> workloads, size_t rows_max, const View& view) {
  std::sort(workloads.begin(), workloads.end(), [](const wire::WorkloadSummary& a, const wire::WorkloadSummary& b) {
    return a.gpu_milli != b.gpu_milli ? a.gpu_milli > b.gpu_milli : a.id < b.id;
  });
  Section section{.table = Table({{"WORKLOAD"},
                                  {"PROJECT"},
                                  {"OWNER"},
                                  {"CLASS"},
                                  {"STATE"},
                                  {"FOR", Align::kRight},
                                  {"GPU", Align::kRight},
                                  {"USED", Align::kRight},
                                  {"ON"}})};
  section.left_out = workloads.size() - std::min(workloads.size(), rows_max);
  workloads.resize(workloads.size() - section.left_out);
  for (const wire::WorkloadSummary& workload : workloads) {
    section.table.add({{workload.name},
                       {workload.project},
                       {workload.owner},
                       {std::string(to_text(workload.class_))},
                       {std::string(to_text(workload.state)), cli::ink_of(workload.state)},
                       {elapsed(workload.state_since, view.now)},
                       {workload.gpu_milli.milli > 0 ? to_text(workload.gpu_milli) : "-"},
                       {used_text(workload)},
                       {nodes_text(workload.nodes)}});
  }
  return section;
}

std::string headline(const TopPicture& picture, const View& view) {
  Share held;
  int64_t devices = 0;
  Activity activity;
  bool simulated = false;
  for (const wire::Node& node : picture.nodes) {
    simulated = simulated || node.simulated;
    for (const wire::Gpu& gpu : node.gpus) {
      held += held_of(gpu);
      activity.add(gpu);
      ++devices;
    }
  }
  std::string text =
      fmt::format("{}  {}, {}: {} held", clock_text(view.now, view),
                  counted(static_cast<int64_t>(picture.nodes.size()), "node"), counted(devices, "GPU"), to_text(held));
  if (activity.measured > 0) text += fmt::format(", {} active", activity.text());
  text += fmt::format("; {}", counted(static_cast<int64_t>(picture.workloads.size()), "workload"));
  return text + (simulated ? "; the GPUs are simulated" : "");
}

}  // namespace

std::string render_top(const TopPicture& picture, const View& view) {
  constexpr size_t kLinesBesides = 7;  // headline, titles, blanks, counts of what was left out
  size_t devices = 0;
  for (const wire::Node& node : picture.nodes) devices += node.gpus.size();
  size_t rows = devices <= kDevicesOneByOne ? devices : picture.nodes.size();
  size_t rows_max = kUnlimited;
  size_t workloads_max = kUnlimited;
  if (view.height > 0) {
    auto room = static_cast<size_t>(view.height) - std::min(static_cast<size_t>(view.height), kLinesBesides);
    // Half of the room each, and what one does not need is the other's.
    rows_max = std::min(rows, std::max(room / 2, room - std::min(room, picture.workloads.size())));
    workloads_max = room - rows_max;
  }
  Section hardware =
      devices <= kDevicesOneByOne ? devices_section(picture.nodes, rows_max) : nodes_section(picture.nodes, rows_max);
  Section workloads = workloads_section(picture.workloads, workloads_max, view);
  std::string text = headline(picture, view);
  if (view.width > 0) text = cut_to(text, static_cast<size_t>(view.width));
  text += "\n";
  std::string hardware_text = text_of(hardware, devices <= kDevicesOneByOne ? "GPUs" : "nodes", view);
  std::string workloads_text = text_of(workloads, "workloads", view);
  if (!hardware_text.empty()) text += "\n" + hardware_text;
  if (!workloads_text.empty()) text += "\n" + workloads_text;
  return text;
}

}  // namespace moulin::cli
