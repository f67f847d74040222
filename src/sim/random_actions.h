// What can happen in a random run: the cluster, and one action after the other.
#pragma once

#include <string_view>
#include <vector>

#include "base/rng.h"
#include "sim/simulation.h"

namespace moulin {

struct RandomCluster {
  // Three nodes in two pools with two models, two departments, four projects, two users.
  explicit RandomCluster(const Simulation::Settings& settings);

  Simulation simulation;
  Rng rng;
  int64_t names = 0;
  std::vector<Node> nodes{};               // as they are registered, removed ones too
  std::vector<command::Submit> repeats{};  // requests with keys, to be sent again; at most 20

  // One of the list; requires that it is not empty.
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(rng.below(std::ssize(list)))];
  }
  // Any workload that is in memory, unfinished ones more often; id 0: there is none.
  WorkloadId any_workload();
  NodeName any_node() { return one_of(nodes).name; }
};

// Does one action, chosen at random; its name. What the core refuses is no failure.
std::string_view act(RandomCluster& cluster);

// A workload that asks for anything that the file of a user could ask for.
WorkloadSpec random_spec(RandomCluster& cluster);

}  // namespace moulin
