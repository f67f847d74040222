// Nodes and devices that would hold it if they took work.
#include <fmt/format.h>

#include "scheduler/explain/inquiry.h"
#include "scheduler/explain/words.h"
#include "scheduler/placement/count.h"

namespace moulin {

namespace {

constexpr size_t kNodesNamed = 3;

std::string trouble(const Node& node) {
  if (node.presence == Presence::kDown) return "down";
  if (node.mode != NodeMode::kOpen) return std::string(to_text(node.mode));
  int64_t sick = 0;
  for (const Gpu& gpu : node.gpus) sick += gpu.health == Health::kHealthy ? 0 : 1;
  return fmt::format("open, but {} not healthy", sick == 1 ? "a GPU is" : fmt::format("{} GPUs are", sick));
}

struct Closed {
  const Node* node = nullptr;
  int64_t replicas = 0;  // more, if it took work
};

std::vector<Closed> useful_nodes(const Inquiry& inquiry) {
  std::vector<Closed> useful;
  const Resources& resources = inquiry.spec().resources;
  for (const auto& [name, member] : inquiry.overlay.index().impaired()) {
    NodeRoom room = *inquiry.overlay.room().node(name);
    if (!may_use_pool(inquiry.spec(), room.pool)) continue;
    int64_t now = room.open ? replicas_on(room, resources) : 0;
    for (DeviceRoom& device : room.devices) device.offered = true;
    int64_t more = replicas_on(room, resources) - now;
    if (more > 0) useful.push_back({inquiry.overlay.state().node(name), more});
  }
  return useful;
}

}  // namespace

void explain_nodes(const Inquiry& inquiry, Reasons& reasons) {
  int64_t fitting = replicas_with(inquiry, inquiry.spec().resources);
  if (fitting >= inquiry.replicas()) return;
  std::vector<Closed> useful = useful_nodes(inquiry);
  std::string words;
  for (size_t i = 0; i < useful.size(); ++i) {
    fitting += useful[i].replicas;
    if (i < kNodesNamed)
      words += fmt::format("{}{} is {}", i == 0 ? "" : ", ", useful[i].node->name.text, trouble(*useful[i].node));
  }
  if (fitting < inquiry.replicas() || useful.empty()) return;
  if (useful.size() > kNodesNamed) words += fmt::format(" and {} more", useful.size() - kNodesNamed);
  reasons.push_back({.code = ReasonCode::kNodeUnavailable,
                     .text = fmt::format("it would fit if all nodes took work: {}", words),
                     .numbers = {{"nodes", std::ssize(useful)}},
                     .names = {{"node", useful.front().node->name.text}}});
}

}  // namespace moulin
