// A workload as its user wrote it. The file form is in docs/workload_file.md; reading
// and writing it is workload_file.h. A WorkloadSpec is valid by construction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "model/resources.h"

namespace moulin {

enum class Kind { kNotebook, kJob, kService };
template <>
inline constexpr auto kWords<Kind> = std::to_array<std::string_view>({"notebook", "job", "service"});

// What may evict what; the first is the highest.
enum class Class { kProduction, kTraining, kDevelopment, kBatch };
template <>
inline constexpr auto kWords<Class> =
    std::to_array<std::string_view>({"production", "training", "development", "batch"});

// True when workloads of class `a` may evict those of class `b`.
constexpr bool is_above(Class a, Class b) { return a < b; }
constexpr Class default_class(Kind kind) {
  return kind == Kind::kNotebook ? Class::kDevelopment : kind == Kind::kJob ? Class::kTraining : Class::kProduction;
}

enum class CodeMode { kLive, kSnapshot };
template <>
inline constexpr auto kWords<CodeMode> = std::to_array<std::string_view>({"live", "snapshot"});

// Replicas: all of `min` start together, the others one by one while there is room.
struct ReplicaRange {
  int64_t min = 1;
  int64_t max = 1;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "min", self.min);
    visit(2, "max", self.max);
  }
  bool operator==(const ReplicaRange&) const = default;
};
inline constexpr int64_t kReplicasMax = 10'000;

struct Retry {
  bool on_failed = false;
  bool on_node_lost = true;
  int64_t max = 3;                  // reruns; preemption never counts, nor what came before a service ran well
  Duration back_off = seconds(10);  // before the first rerun, doubled each time, at most 1 h
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "on_failed", self.on_failed);
    visit(2, "on_node_lost", self.on_node_lost);
    visit(3, "max", self.max);
    visit(4, "back_off", self.back_off);
  }
  bool operator==(const Retry&) const = default;
};

// Services are meant to live: they come back after failures too, and more often.
constexpr Retry default_retry(Kind kind) {
  if (kind == Kind::kService) return {.on_failed = true, .max = 10};
  return {};
}

inline constexpr Duration kGraceDefault = seconds(30);
inline constexpr Duration kGraceMax = minutes(10);

struct WorkloadSpec {
  std::string name{};
  Kind kind = Kind::kJob;
  TreeName project{};
  std::vector<std::string> argv{};  // the command; for `run: "text"` it is /bin/sh -c text
  bool shell = false;               // the user wrote one string
  CodeMode code = CodeMode::kLive;
  std::string folder{};    // working folder, absolute
  std::string snapshot{};  // content address of the copied folder; with kSnapshot
  Resources resources{};   // of each replica
  ReplicaRange replicas{};
  Class priority_class = Class::kTraining;
  int64_t priority = 0;  // larger wins, inside class and project; -1000 to 1000
  Duration min_runtime{};
  bool checkpoints = false;        // declared `checkpoint`
  std::string checkpoint_path{};   // relative to the folder, or absolute
  Duration grace = kGraceDefault;  // from the signal to the kill
  Retry retry{};
  Duration duration_limit{};  // running time over all attempts; 0: none
  std::map<std::string, std::string> environment{};
  std::map<std::string, std::string> tags{};
  std::vector<PoolName> pools{};  // empty: every pool; else one space made of these
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "name", self.name);
    visit(2, "kind", self.kind);
    visit(3, "project", self.project);
    visit(4, "argv", self.argv);
    visit(5, "shell", self.shell);
    visit(6, "code", self.code);
    visit(7, "folder", self.folder);
    visit(8, "snapshot", self.snapshot);
    visit(9, "resources", self.resources);
    visit(10, "replicas", self.replicas);
    visit(11, "class", self.priority_class);
    visit(12, "priority", self.priority);
    visit(13, "min_runtime", self.min_runtime);
    visit(14, "checkpoints", self.checkpoints);
    visit(15, "checkpoint_path", self.checkpoint_path);
    visit(16, "grace", self.grace);
    visit(17, "retry", self.retry);
    visit(18, "duration_limit", self.duration_limit);
    visit(19, "environment", self.environment);
    visit(20, "tags", self.tags);
    visit(21, "pools", self.pools);
  }
  bool operator==(const WorkloadSpec&) const = default;
};

}  // namespace moulin
