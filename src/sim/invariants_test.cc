// The checkers themselves: each sees what it is there for.
#include "sim/invariants.h"

#include <doctest/doctest.h>

#include "sim/reclaim_invariant.h"

namespace moulin {

namespace {

// A node with two devices, and one running workload on the first.
struct Broken {
  Broken() {
    Node node{.name = NodeName("n"), .cpu = {8'000}, .memory = gibibytes(64), .gpus = {}, .labels = {}};
    for (int32_t i = 0; i < 2; ++i)
      node.gpus.push_back(
          {.uuid = GpuUuid("g" + std::to_string(i)), .index = i, .model = ModelName("H100"), .memory = gibibytes(80)});
    state.nodes.set(node.name, Cow<Node>(node));
    state.tree.set(kRootTree, Cow<TreeNode>({.name = kRootTree, .kind = TreeKind::kOrganisation, .quotas = {}}));
    state.tree.set(kDefaultProject, Cow<TreeNode>({.name = kDefaultProject, .parent = kRootTree, .quotas = {}}));
    add(1, {.gpu = GpuUuid("g0"), .slot = 0, .share = {600}, .memory = gibibytes(40)});
  }
  Workload& add(uint64_t id, Grant grant) {
    Workload workload{.id = {id}, .spec = {.name = "w" + std::to_string(id), .project = kDefaultProject}};
    workload.spec.resources = {.gpu = {.form = GpuForm::kShare, .count = 1, .share = grant.share},
                               .gpu_models = {},
                               .cpu = {4'000},
                               .memory = gibibytes(20)};
    workload.state = WorkloadState::kRunning;
    Attempt attempt{.number = {1}, .state = AttemptState::kRunning, .replicas = {}};
    attempt.replicas.push_back(
        {.state = ReplicaState::kRunning,
         .placement = {.node = NodeName("n"), .grants = {grant}, .cpu = {4'000}, .memory = gibibytes(20)}});
    workload.attempts.push_back(attempt);
    state.names.set({kDefaultProject, workload.spec.name}, {id});
    state.workloads.set({id}, Cow<Workload>(workload));
    return state.workloads.at_mutable({id}).mutate();
  }
  Workload& workload(uint64_t id) { return state.workloads.at_mutable({id}).mutate(); }
  bool complains_of(std::string_view words) const {
    Violation violation = check_state(state);
    if (!violation) violation = check_between_commands(state);
    CAPTURE(violation.value_or("all is well"));
    bool found = violation && violation->find(words) != std::string::npos;
    CHECK(found);
    return found;
  }
  State state;
};

event::AttemptStarted start_of(const Workload& workload) {
  return {.workload = workload.id, .attempt = {1}, .replicas = {{{0}, workload.attempts[0].replicas[0].placement}}};
}

Grant half(int32_t slot) {
  return {.gpu = GpuUuid("g" + std::to_string(slot)), .slot = slot, .share = {500}, .memory = gibibytes(10)};
}

}  // namespace

TEST_CASE("a sound state has nothing to complain of") {
  Broken broken;
  CHECK_FALSE(check_state(broken.state).has_value());
  CHECK_FALSE(check_between_commands(broken.state).has_value());
}

TEST_CASE("each broken state is seen") {
  Broken broken;
  SUBCASE("a device given twice") {
    broken.add(2, half(0));
    broken.complains_of("is given 1100 thousandths");
  }
  SUBCASE("more memory than a device has") {
    broken.add(2, {.gpu = GpuUuid("g0"), .slot = 0, .share = {100}, .memory = gibibytes(50)});
    broken.complains_of("is given 90GiB of 80GiB");
  }
  SUBCASE("a device that is not there") {
    broken.add(2, {.gpu = GpuUuid("g9"), .slot = 1, .share = {100}});
    broken.complains_of("g9, which is not there");
  }
  SUBCASE("more CPU than a node has") {
    broken.add(2, half(1));
    broken.add(3, half(1));
    broken.complains_of("cores of n are given");
  }
  SUBCASE("a node that is not there") {
    broken.state.nodes.erase(NodeName("n"));
    broken.complains_of("not registered");
  }
  SUBCASE("a name that leads nowhere") {
    broken.state.names.set({kDefaultProject, "ghost"}, {9});
    broken.complains_of("2 names for 1");
  }
  SUBCASE("a name that leads elsewhere") {
    broken.state.names.set({kDefaultProject, "w1"}, {9});
    broken.complains_of("is not under its name");
  }
  SUBCASE("a claim of one who runs") {
    broken.state.claims.set({1}, Cow<Claim>({.owner = {1}, .places = {}, .victims = {}}));
    broken.complains_of("holds a claim and is running");
  }
  SUBCASE("something under a wrong key") {
    broken.state.nodes.set(NodeName("m"), Cow<Node>(*broken.state.node(NodeName("n"))));
    broken.complains_of("stands under the name");
  }
  SUBCASE("half a gang") {
    broken.workload(1).spec.replicas = {.min = 2, .max = 2};
    broken.complains_of("has 1 of its minimum of 2");
  }
  SUBCASE("a gang that lost a member and goes on") {
    Workload& workload = broken.workload(1);
    workload.spec.replicas = {.min = 2, .max = 2};
    workload.attempts[0].replicas.push_back({.state = ReplicaState::kExited, .placement = {}});
    workload.attempts[0].replicas[1].exit.code = 1;
    broken.complains_of("lost a member");
  }
  SUBCASE("a live attempt of a workload that has ended") {
    broken.workload(1).state = WorkloadState::kFailed;
    broken.state.names.erase({kDefaultProject, "w1"});
    broken.complains_of("while the workload is failed");
  }
  SUBCASE("a live workload without a live replica") {
    broken.workload(1).attempts[0].replicas[0].state = ReplicaState::kExited;
    broken.workload(1).attempts[0].replicas[0].exit.code = 0;
    broken.complains_of("without a replica");
  }
}

TEST_CASE("each event that must not happen is seen") {
  Broken broken;
  State before = broken.state;
  State& after = broken.state;
  after.sequence = {1};
  auto complains_of = [&](EventBody body, std::string_view words) {
    Violation violation = check_event(before, {.at = {}, .actor = {}, .body = std::move(body)}, after);
    CAPTURE(violation.value_or("all is well"));
    CHECK((violation && violation->find(words) != std::string::npos));
  };
  SUBCASE("the sequence stands still") {
    after.sequence = {0};
    complains_of(event::WallClockMoved{}, "sequence");
  }
  SUBCASE("a workload leaps from running to stopped") {
    broken.workload(1).state = WorkloadState::kStopped;
    complains_of(event::WorkloadStopped{.workload = {1}, .by = {}}, "went from running to stopped");
  }
  SUBCASE("an event about one changes another") {
    ++broken.workload(1).retries;
    complains_of(event::BackOffEnded{{2}}, "changed w-");
  }
  SUBCASE("production is preempted") {
    broken.workload(1).spec.priority_class = Class::kProduction;
    before = broken.state;
    before.sequence = {0};
    complains_of(event::EndAsked{.workload = {1}, .intent = Intent::kPreempt, .cause = Cause::kFairShareReclaim},
                 "production");
  }
  SUBCASE("a start") {
    before.workloads.at_mutable({1}).mutate().state = WorkloadState::kWaiting;
    broken.workload(1).state = WorkloadState::kStarting;
    SUBCASE("that goes beyond a limit") {
      after.tree.at_mutable(kDefaultProject).mutate().quotas[QuotaKey{}].limit = 500;
      complains_of(start_of(broken.workload(1)), "then holds 600 of 500 gpu");
    }
    SUBCASE("that takes what another one claims") {
      Claim claim{.owner = {5}, .places = {{{0}, {.node = NodeName("n"), .grants = {half(0)}}}}, .victims = {}};
      after.claims.set({5}, Cow<Claim>(claim));
      complains_of(start_of(broken.workload(1)), "1100 thousandths are then taken or claimed");
    }
    SUBCASE("on a cordoned node") {
      before.nodes.at_mutable(NodeName("n")).mutate().mode = NodeMode::kCordoned;
      complains_of(start_of(broken.workload(1)), "takes no work");
    }
    SUBCASE("on a sick device") {
      before.nodes.at_mutable(NodeName("n")).mutate().gpus[0].health = Health::kUnhealthy;
      complains_of(start_of(broken.workload(1)), "which is unhealthy");
    }
    SUBCASE("with another share than was asked for") {
      before.workloads.at_mutable({1}).mutate().spec.resources.gpu.share = {700};
      complains_of(start_of(broken.workload(1)), "gets 600 thousandths");
    }
    SUBCASE("of fewer replicas than the minimum") {
      broken.workload(1).spec.replicas = {.min = 2, .max = 2};
      complains_of(start_of(broken.workload(1)), "starts with 1 replicas");
    }
    SUBCASE("of production without a guarantee") {
      for (State* state : {&before, &after})
        state->workloads.at_mutable({1}).mutate().spec.priority_class = Class::kProduction;
      complains_of(start_of(broken.workload(1)), "of a guarantee of 0");
    }
  }
}

TEST_CASE("what is taken back is counted again") {
  Broken broken;
  Workload& victim = broken.workload(1);
  victim.spec.project = TreeName("victims");
  Workload winner = victim;
  winner.id = {7};
  winner.spec.project = TreeName("winners");
  auto guarantees = [&](int64_t of_victims, int64_t of_winners) {
    for (auto [name, guaranteed] : {std::pair{"victims", of_victims}, std::pair{"winners", of_winners}}) {
      TreeNode node{.name = TreeName(name), .kind = TreeKind::kProject, .parent = kRootTree, .quotas = {}};
      node.quotas[QuotaKey{}].guaranteed = guaranteed;
      broken.state.tree.set(node.name, Cow<TreeNode>(node));
    }
  };
  auto said = [&](const Workload* for_whom) { return check_reclaim(broken.state, victim, for_whom).value_or("well"); };
  guarantees(500, 600);
  CHECK(said(&winner) == "well");
  CHECK(said(nullptr).find("for nobody of another project") != std::string::npos);
  CHECK(said(&victim).find("for nobody of another project") != std::string::npos);
  guarantees(600, 600);
  CHECK(said(&winner).find("from inside the guarantee of victims") != std::string::npos);
  guarantees(500, 599);
  CHECK(said(&winner).find("takes back more than the guarantee of winners") != std::string::npos);
  victim.spec.priority_class = Class::kProduction;
  CHECK(said(&winner).find("production") != std::string::npos);
}

}  // namespace moulin
