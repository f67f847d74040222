// Hardware: pools of nodes, nodes, GPUs. Nodes arrive as facts from an engine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/enum_text.h"
#include "base/share.h"
#include "base/instant.h"
#include "model/grant.h"
#include "model/names.h"

namespace moulin {

enum class Health {
  kHealthy,
  kUnhealthy,  // a fatal error was seen: drained, gets nothing new
  kUnknown,    // does not answer: gets nothing new, keeps what it has
};
template <>
inline constexpr auto kWords<Health> = std::to_array<std::string_view>({"healthy", "unhealthy", "unknown"});

struct Gpu {
  GpuUuid uuid{};
  int32_t index = 0;            // on its node
  ModelName model{};
  Bytes memory{};               // as the device reports it
  Bytes reserve{};              // kept by the driver
  Isolation isolation = Isolation::kAdvisory;  // of a part of this device
  Health health = Health::kHealthy;
  std::string health_reason{};    // a sentence when not healthy
  int64_t foreign_processes = 0;   // started outside Moulin
  Bytes foreign_memory{};          // what they hold; the device is shared around them
  std::string group{};            // NVLink group on the node; empty: unknown
  Bytes usable() const { return memory - reserve; }
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "uuid", self.uuid);
    visit(2, "index", self.index);
    visit(3, "model", self.model);
    visit(4, "memory", self.memory);
    visit(5, "reserve", self.reserve);
    visit(6, "isolation", self.isolation);
    visit(7, "health", self.health);
    visit(8, "health_reason", self.health_reason);
    visit(9, "foreign_processes", self.foreign_processes);
    visit(10, "foreign_memory", self.foreign_memory);
    visit(11, "group", self.group);
  }
  bool operator==(const Gpu&) const = default;
};

enum class NodeMode {
  kOpen,      // takes work
  kCordoned,  // keeps its work, takes nothing new
  kDraining,  // takes nothing new; its work is moved away
};
template <>
inline constexpr auto kWords<NodeMode> = std::to_array<std::string_view>({"open", "cordoned", "draining"});

enum class Presence { kUp, kDown };
template <>
inline constexpr auto kWords<Presence> = std::to_array<std::string_view>({"up", "down"});

struct Node {
  NodeName name{};
  PoolName pool = kDefaultPool;
  CpuMilli cpu{};
  Bytes memory{};
  std::vector<Gpu> gpus{};                      // by index
  std::map<std::string, std::string> labels{};  // topology: "block", "rack" and others
  NodeMode mode = NodeMode::kOpen;
  Presence presence = Presence::kUp;
  bool simulated = false;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "name", self.name);
    visit(2, "pool", self.pool);
    visit(3, "cpu", self.cpu);
    visit(4, "memory", self.memory);
    visit(5, "gpus", self.gpus);
    visit(6, "labels", self.labels);
    visit(7, "mode", self.mode);
    visit(8, "presence", self.presence);
    visit(9, "simulated", self.simulated);
  }
  bool operator==(const Node&) const = default;
};
inline constexpr size_t kNodesMax = 100'000;
inline constexpr size_t kGpusPerNodeMax = 64;

}  // namespace moulin
