#include <doctest/doctest.h>

#include "core/testing.h"
#include "server/effects.h"

namespace moulin {
namespace {

ReplicaLaunch launch(const TestCluster& cluster, WorkloadId id, size_t replica, LaunchSettings settings = {}) {
  const Workload& workload = cluster.workload(id);
  return launch_of(cluster.core.state(), workload, workload.attempts.back().replicas[replica], settings);
}

}  // namespace

TEST_CASE("a replica knows who it is and what it has") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("train");
  spec.environment = {{"MY_OWN", "1"}, {"MOULIN_REPLICA", "forged"}};
  spec.folder = "/home/u/code";
  spec.checkpoints = true;
  spec.checkpoint_path = "state/last";
  spec.grace = seconds(7);
  WorkloadId id = cluster.submit(spec);
  cluster.start(id);
  ReplicaLaunch made = launch(cluster, id, 0, {.data_folder = "/data", .simulated = true});
  CHECK(made.environment == std::map<std::string, std::string>{{"MY_OWN", "1"},
                                                               {"MOULIN_WORKLOAD_ID", to_text(id)},
                                                               {"MOULIN_WORKLOAD_NAME", "train"},
                                                               {"MOULIN_PROJECT", "default"},
                                                               {"MOULIN_CLASS", "training"},
                                                               {"MOULIN_ATTEMPT", "1"},
                                                               {"MOULIN_REPLICA", "0"},
                                                               {"MOULIN_NODE", "n1"},
                                                               {"CUDA_VISIBLE_DEVICES", "n1-0"},
                                                               {"MOULIN_GPU_SHARE", "1000"},
                                                               {"MOULIN_GPU_MEMORY", "85899345920"},
                                                               {"MOULIN_SIMULATED", "1"}});
  CHECK(made.working_folder == "/home/u/code");
  CHECK(made.checkpoint_file == "/home/u/code/state/last");
  CHECK(made.grace == seconds(7));
  CHECK(made.argv == std::vector<std::string>{"true"});
  CHECK(made.token == "token");
  CHECK(made.account.empty());
}

TEST_CASE("the members of a gang find each other") {
  TestCluster cluster;
  WorkloadSpec spec = TestCluster::make_spec("gang");
  spec.replicas = {.min = 3, .max = 3};
  WorkloadId id = cluster.submit(spec);
  command::Start start = cluster.start_command(id, 3);
  start.identity.rendezvous_port = 29500;
  cluster.must(start);
  ReplicaLaunch last = launch(cluster, id, 2);
  CHECK(last.environment.at("MASTER_ADDR") == "127.0.0.1");
  CHECK(last.environment.at("MASTER_PORT") == "29500");
  CHECK(last.environment.at("WORLD_SIZE") == "3");
  CHECK(last.environment.at("RANK") == "2");
  CHECK(last.environment.at("LOCAL_RANK") == "2");
  CHECK(last.environment.at("NODE_RANK") == "0");
  CHECK(last.environment.at("CUDA_VISIBLE_DEVICES") == "n1-2");
}

TEST_CASE("a snapshot of the code is run from the data folder, an account is that of the owner") {
  TestCluster cluster;
  cluster.must(command::CreateUser{.name = UserName("ann"), .account = "ann_unix"});
  cluster.must(command::GrantRole{Binding{.user = UserName("ann"), .at = kRootTree, .role = Role::kMember}});
  WorkloadSpec spec = TestCluster::make_spec("w");
  spec.code = CodeMode::kSnapshot;
  spec.snapshot = "abc";
  spec.folder = "/home/ann/code";
  spec.checkpoints = true;
  spec.checkpoint_path = "/ckpt";
  WorkloadId id{77};
  REQUIRE(cluster.give(command::Submit{.workloads = {{.id = id, .spec = spec, .origin = {}}}}, "ann").has_value());
  cluster.start(id);
  ReplicaLaunch made = launch(cluster, id, 0, {.data_folder = "/data"});
  CHECK(made.working_folder == "/data/snapshots/abc");
  CHECK(made.checkpoint_file == "/ckpt");
  CHECK(made.account == "ann_unix");
  CHECK_FALSE(made.environment.contains("MOULIN_SIMULATED"));
}

}  // namespace moulin
