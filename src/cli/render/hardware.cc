#include "cli/render/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/table.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

std::string quota_left(const wire::FreeGpus& gpus) {
  std::string text =
      fmt::format("Project {} has {} left of its guarantee", gpus.project, gpus_text(gpus.guarantee_left_milli));
  if (gpus.limit_left_milli) return text + fmt::format(", {} up to its limit.", gpus_text(*gpus.limit_left_milli));
  return text + ", and no limit.";
}

// A column of pools says nothing while there is only the default one.
template <class T>
bool is_in_own_pool(const T& item) {
  return item.pool != kDefaultPool.text;
}

// "8", or "7 of 8" when one of them takes no work.
std::string healthy_text(const wire::FreeGpuModel& model) {
  if (model.healthy == model.devices) return fmt::format("{}", model.devices);
  return fmt::format("{} of {}", model.healthy, model.devices);
}

std::string mode_text(const wire::Node& node) {
  if (node.presence == Presence::kDown) return "down";
  return std::string(to_text(node.mode));
}

Ink ink_of(const wire::Node& node) {
  if (node.presence == Presence::kDown) return Ink::kRed;
  return node.mode == NodeMode::kOpen ? Ink::kGreen : Ink::kYellow;
}

// "8 H100-80GB", "4 A100-40GB, 2 T4-16GB".
std::string models_text(const wire::Node& node) {
  std::map<std::string, int64_t> counts;
  for (const wire::Gpu& gpu : node.gpus) ++counts[gpu.model];
  std::vector<std::string> parts;
  for (const auto& [model, count] : counts) parts.push_back(fmt::format("{} {}", count, model));
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string trouble_of(const wire::Gpu& gpu) {
  std::string text;
  if (gpu.health != Health::kHealthy)
    text = fmt::format("{}: {}", to_text(gpu.health), gpu.health_reason);
  else if (!gpu.health_reason.empty())
    text = gpu.health_reason;
  if (gpu.foreign_processes > 0) {
    text += fmt::format("{}{} not started by Moulin hold{} {}", text.empty() ? "" : "; ",
                        counted(gpu.foreign_processes, "process"), gpu.foreign_processes == 1 ? "s" : "",
                        rough_bytes(gpu.foreign_memory_bytes));
  }
  return text;
}

std::string holders_text(const wire::Gpu& gpu) {
  std::vector<std::string> parts;
  for (const wire::GpuHolder& holder : gpu.holders) {
    parts.push_back(fmt::format("{} {}", to_text(holder.share_milli), holder.name.value_or(to_text(holder.workload))));
  }
  return join(parts, ", ");
}

std::string measured(const std::optional<int64_t>& value, int64_t divisor, std::string_view unit) {
  return value ? fmt::format("{}{}", *value / divisor, unit) : "";
}

}  // namespace

std::string render_free_gpus(const wire::FreeGpus& gpus, const View& view) {
  if (gpus.items.empty()) {
    std::string why = gpus.note.empty() ? "This server has none." : printable(gpus.note);
    return wrapped("No GPUs: " + why, "", view) + "Workloads without GPU run: moulin run -- CMD\n";
  }
  Table table({{"MODEL", Align::kLeft, Fit::kWhole},
               {"POOL"},
               {"MEMORY", Align::kRight},
               {"GPUS", Align::kRight},
               {"FREE", Align::kRight},
               {"WHOLE", Align::kRight},
               {"LARGEST PART", Align::kRight},
               {"ON ONE NODE", Align::kRight},
               {"ISOLATION"}});
  bool has_pools = std::any_of(gpus.items.begin(), gpus.items.end(), is_in_own_pool<wire::FreeGpuModel>);
  for (const wire::FreeGpuModel& model : gpus.items) {
    table.add({{model.model},
               {has_pools ? model.pool : ""},
               {rough_bytes(model.memory_bytes)},
               {healthy_text(model), model.healthy < model.devices ? Ink::kRed : Ink::kPlain},
               {to_text(model.free_milli), model.free_milli.milli > 0 ? Ink::kGreen : Ink::kYellow},
               {fmt::format("{}", model.free_devices)},
               {to_text(model.largest_share_milli)},
               {to_text(model.largest_block_milli)},
               {std::string(to_text(model.isolation))}});
  }
  std::string text = table.text(view) + "\n" + wrapped(quota_left(gpus), "", view);
  if (gpus.simulated) text += paint("These devices are simulated.", Ink::kYellow, view) + "\n";
  return text;
}

std::string render_nodes(const wire::NodePage& page, const View& view) {
  if (page.items.empty()) return "No nodes.\n";
  Table table({{"NAME"},
               {"POOL"},
               {"STATE"},
               {"GPUS"},
               {"FREE", Align::kRight},
               {"CPU FREE", Align::kRight},
               {"MEMORY FREE", Align::kRight},
               {"NOTE"}});
  bool has_pools = std::any_of(page.items.begin(), page.items.end(), is_in_own_pool<wire::Node>);
  for (const wire::Node& node : page.items) {
    Share free;
    int64_t troubled = 0;
    for (const wire::Gpu& gpu : node.gpus) {
      free += gpu.free_milli;
      if (!trouble_of(gpu).empty()) ++troubled;
    }
    std::string note = node.simulated ? "simulated" : "";
    if (troubled > 0) {
      if (!note.empty()) note += "; ";
      note += fmt::format("{} not in order or shared: `moulin node show {}`", counted(troubled, "GPU"), node.name);
    }
    table.add({{node.name},
               {has_pools ? node.pool : ""},
               {mode_text(node), ink_of(node)},
               {models_text(node)},
               {to_text(free)},
               {fmt::format("{} of {}", to_text(node.cpu_free_milli), to_text(node.cpu_milli))},
               {fmt::format("{} of {}", rough_bytes(node.memory_free_bytes), rough_bytes(node.memory_bytes))},
               {note, Ink::kYellow}});
  }
  return table.text(view);
}

std::string render_node(const wire::Node& node, const View& view) {
  Facts facts;
  facts.add("node", node.name, Ink::kBold);
  facts.add("state", mode_text(node), ink_of(node));
  facts.add("pool", node.pool);
  facts.add("CPU free", fmt::format("{} of {} cores", to_text(node.cpu_free_milli), to_text(node.cpu_milli)));
  facts.add("memory free",
            fmt::format("{} of {}", rough_bytes(node.memory_free_bytes), rough_bytes(node.memory_bytes)));
  for (const auto& [name, value] : node.labels) facts.add("label " + name, value);
  if (node.simulated) facts.add("note", "simulated: it does not exist", Ink::kYellow);
  Table table({{"GPU", Align::kRight},
               {"MODEL"},
               {"FREE", Align::kRight},
               {"MEMORY FREE", Align::kRight},
               {"ACTIVE", Align::kRight},
               {"TEMP", Align::kRight},
               {"POWER", Align::kRight},
               {"HELD BY"},
               {"REMARK"}});
  for (const wire::Gpu& gpu : node.gpus) {
    table.add({{fmt::format("{}", gpu.index)},
               {gpu.model},
               {to_text(gpu.free_milli)},
               {rough_bytes(gpu.free_memory_bytes)},
               {measured(gpu.active_milli, 10, "%")},
               {measured(gpu.celsius, 1, "C")},
               {measured(gpu.milliwatts, 1000, "W")},
               {holders_text(gpu)},
               {trouble_of(gpu), gpu.health == Health::kHealthy ? Ink::kYellow : Ink::kRed}});
  }
  return facts.text(view) + (table.empty() ? "" : "\n" + table.text(view));
}

}  // namespace moulin::cli
