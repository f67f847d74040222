// A small cluster for the tests of this layer: one node with eight devices, a project
// "default", an administrator "admin". Placements are made by hand, so that these tests
// say nothing about the scheduler.
#pragma once

#include <string>
#include <vector>

#include "core/core.h"

namespace moulin {

// The words of events, in order.
inline std::vector<std::string> words_of(const Events& events) {
  std::vector<std::string> words;
  for (const Event& event : events) words.emplace_back(event_word(event.body));
  return words;
}

class TestCluster {
 public:
  static constexpr int32_t kDevices = 8;

  TestCluster() {
    must(command::BeginEpoch{.boot_id = "boot", .wall_offset = {}, .version = "test"});
    must(command::RegisterNode{make_node("n1")});
    must(command::CreateUser{.name = UserName("admin"), .account = {}});
    must(command::GrantRole{Binding{.user = UserName("admin"), .at = kRootTree, .role = Role::kAdmin}});
  }

  static Node make_node(std::string_view name) {
    Node node{.name = NodeName(name), .cpu = {64'000}, .memory = gibibytes(512), .gpus = {}, .labels = {}};
    for (int32_t i = 0; i < kDevices; ++i) {
      node.gpus.push_back({.uuid = GpuUuid(std::string(name) + "-" + std::to_string(i)),
                           .index = i,
                           .model = ModelName("H100-80GB"),
                           .memory = gibibytes(80)});
    }
    return node;
  }

  static WorkloadSpec make_spec(std::string_view name) {
    WorkloadSpec spec{.name = std::string(name), .project = kDefaultProject, .argv = {"true"}};
    spec.resources.gpu = {.form = GpuForm::kDevices, .count = 1, .share = kWholeDevice};
    return spec;
  }

  Result<Events> give(CommandBody body, std::string_view user = "") {
    return core.execute({.actor = {.user = UserName(user), .workload = {}}, .at = now, .body = std::move(body)});
  }
  Events must(CommandBody body) {
    Result<Events> done = give(std::move(body));
    MOULIN_CHECK(done.has_value(), done ? "" : done.error().message);
    return *done;
  }
  // What a user's command comes to: the words of its events, or the code of the refusal.
  std::vector<std::string> outcome(CommandBody body, std::string_view user = "") {
    Result<Events> done = give(std::move(body), user);
    if (done) return words_of(*done);
    return {std::string(to_text(done.error().code))};
  }

  WorkloadId submit(WorkloadSpec spec) {
    WorkloadId id{++ids};
    must(command::Submit{.workloads = {{.id = id, .spec = std::move(spec), .origin = {}}}});
    return id;
  }

  // Replicas `first` and on, each on a whole device of its own.
  std::vector<ReplicaPlacement> places(ReplicaIndex first, int32_t count) {
    std::vector<ReplicaPlacement> places;
    const Node& node = *core.state().node(NodeName("n1"));
    for (int32_t i = 0; i < count; ++i) {
      const Gpu& gpu = node.gpus[static_cast<size_t>(device++ % kDevices)];
      Grant grant{.gpu = gpu.uuid, .slot = gpu.index, .share = kWholeDevice, .memory = gpu.usable()};
      places.push_back({{first.value + i}, {.node = node.name, .grants = {grant}}});
    }
    return places;
  }
  command::Start start_command(WorkloadId id, int32_t count) {
    return {.item = {.workload = id, .replicas = places({0}, count)},
            .identity = {.token = "token", .rendezvous_port = 0}};
  }
  command::Start surplus_command(WorkloadId id, int32_t count) {
    const Workload* workload = core.state().workload(id);
    bool any = workload != nullptr && !workload->attempts.empty();
    ReplicaIndex first = any ? workload->attempts.back().next_replica() : ReplicaIndex{0};
    return {.item = {.workload = id, .replicas = places(first, count), .surplus = true}, .identity = {}};
  }

  const Workload& workload(WorkloadId id) const { return *core.state().workload(id); }
  ReplicaKey key(WorkloadId id, int32_t replica) const {
    const Workload* found = core.state().workload(id);
    return {id, {found == nullptr ? 1 : found->attempt_count}, {replica}};
  }
  command::TakeReport started(WorkloadId id, int32_t replica) const {
    return {ReplicaStarted{.key = key(id, replica), .token = "token", .pid = 1}};
  }
  command::TakeReport exited(WorkloadId id, int32_t replica, Exit exit) const {
    return {ReplicaExited{.key = key(id, replica), .token = "token", .exit = std::move(exit), .usage = {}}};
  }

  void start(WorkloadId id, int32_t count = 1) { must(start_command(id, count)); }
  // Starts it and lets its replicas report so.
  void run(WorkloadId id, int32_t count = 1) {
    start(id, count);
    for (int32_t i = 0; i < count; ++i) must(started(id, i));
  }
  void end(WorkloadId id, Exit exit) {
    const std::vector<Replica> replicas = workload(id).live()->replicas;
    for (const Replica& replica : replicas) {
      if (replica.state != ReplicaState::kExited) must(exited(id, replica.index.value, exit));
    }
  }

  Core core;
  Instant now = Instant{} + hours(1);
  uint64_t ids = 0;
  int32_t device = 0;
};

}  // namespace moulin
