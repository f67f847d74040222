#include "scheduler/explain/reasons.h"

#include <doctest/doctest.h>

#include "scheduler/testing.h"

namespace moulin {
namespace {

using testing::Cluster;
using Codes = std::vector<ReasonCode>;

Codes codes(const Cluster& cluster, WorkloadId id) { return codes_of(explain(cluster.view(), id).reasons); }

std::string text_of(const Explanation& explanation, ReasonCode code) {
  for (const Reason& reason : explanation.reasons) {
    if (reason.code == code) return reason.text;
  }
  return "";
}
std::string text_of(const Cluster& cluster, WorkloadId id, ReasonCode code) {
  return text_of(explain(cluster.view(), id), code);
}

std::string change_text(const Explanation& explanation, Dimension dimension) {
  for (const Change& change : explanation.changes) {
    if (change.dimension == dimension) return change.text;
  }
  return "";
}

// What the pass writes down is what `why` says.
void check_pass_agrees(const Cluster& cluster, WorkloadId id) {
  Plan plan = make_plan(cluster.view(), {});
  for (const WaitItem& item : plan.waits) {
    if (item.workload == id) CHECK(item.reasons == codes(cluster, id));
  }
}

TEST_CASE("for a workload that is not there yet others would be asked to leave, and that tells when it starts") {
  testing::Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.running({.priority_class = Class::kBatch, .devices = 1});
  WorkloadSpec one = testing::job({.devices = 1});
  CHECK(explain_new(cluster.view(), one, {}).reasons.empty());
  cluster.running({.devices = 1});
  Explanation explanation = explain_new(cluster.view(), one, {});
  CHECK(explanation.expected_start == cluster.state().now + kGraceDefault);
  CHECK(explanation.expected_start_reason.starts_with("when those that make way for it have left"));
}

TEST_CASE("no_capacity: how much is free, how much is needed, where most of it is") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  cluster.running({.devices = 3});
  WorkloadId id = cluster.submit({.devices = 2});
  Explanation why = explain(cluster.view(), id);
  CHECK(codes_of(why.reasons) == Codes{ReasonCode::kNoCapacity});
  CHECK(why.reasons[0].text == "asks for 2 GPUs; 1 GPU free in all; most of it, 1 GPU, on node n1");
  CHECK(why.reasons[0].numbers.at("free_milli") == 1000);
  CHECK(why.reasons[0].numbers.at("needed_milli") == 2000);
  CHECK(why.reasons[0].numbers.at("largest_milli") == 1000);
  CHECK(change_text(why, Dimension::kShare) == "ask for 1 GPU instead of 2 GPUs");
  CHECK(!why.expected_start);
  CHECK(why.expected_start_reason.starts_with("what is in its way declares"));
  check_pass_agrees(cluster, id);
}

TEST_CASE("fragmented: enough in all, but not together") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.node({.name = "n2", .gpus = 2});
  WorkloadId id = cluster.submit({.devices = 1, .replicas = 2});
  cluster.pass();
  WorkloadId whole = cluster.submit({.devices = 2});
  CHECK(cluster.is_running(id));
  CHECK(codes(cluster, whole).empty());  // both went to one node
  cluster.pass();
  WorkloadId half = cluster.submit({.share = {500}});
  CHECK(codes(cluster, half) == Codes{ReasonCode::kNoCapacity});

  Cluster parts;
  parts.node({.name = "n1", .gpus = 2});
  parts.running({.share = {600}});
  parts.running({.share = {600}});
  WorkloadId piece = parts.submit({.share = {500}});
  CHECK(codes(parts, piece) == Codes{ReasonCode::kFragmented});
  CHECK(text_of(parts, piece, ReasonCode::kFragmented) ==
        "0.8 GPU free in all, but not together: asks for 0.5 GPU, and the most on one device is 0.4 GPU, on node n1");
  CHECK(change_text(explain(parts.view(), piece), Dimension::kShare) == "ask for 0.4 GPU instead of 0.5 GPU");
  check_pass_agrees(parts, piece);
}

TEST_CASE("gang_short: so many of so many") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 4});
  cluster.running({.devices = 1});
  WorkloadId gang = cluster.submit({.devices = 1, .replicas = 4});
  CHECK(codes(cluster, gang) == Codes{ReasonCode::kNoCapacity, ReasonCode::kGangShort});
  CHECK(text_of(cluster, gang, ReasonCode::kGangShort) ==
        "3 of its 4 replicas fit now; they start together or not at all");
  CHECK(change_text(explain(cluster.view(), gang), Dimension::kReplicas) == "start with 3 replicas instead of 4");
}

TEST_CASE("no_gpu_memory: the most that one device has free") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1, .gpu_memory = gibibytes(80)});
  cluster.running({.gpu_memory = gibibytes(60)});
  WorkloadId id = cluster.submit({.gpu_memory = gibibytes(30)});
  CHECK(codes(cluster, id) == Codes{ReasonCode::kNoCapacity, ReasonCode::kNoGpuMemory});
  CHECK(text_of(cluster, id, ReasonCode::kNoGpuMemory) ==
        "asks for 30GiB of GPU memory; the most that is free on one device is 20GiB, on node n1");
  CHECK(change_text(explain(cluster.view(), id), Dimension::kGpuMemory) ==
        "ask for 20GiB of GPU memory instead of 30GiB");
}

TEST_CASE("no_cpu and no_memory: beside the GPUs that it needs") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2, .cpu = {8000}, .memory = gibibytes(64)});
  cluster.node({.name = "n2", .gpus = 0, .cpu = {64'000}, .memory = gibibytes(512)});
  cluster.running({.devices = 1, .cpu = {6000}, .memory = gibibytes(60)});
  WorkloadId id = cluster.submit({.devices = 1, .cpu = {4000}, .memory = gibibytes(8)});
  CHECK(codes(cluster, id) == Codes{ReasonCode::kNoCpu, ReasonCode::kNoMemory});
  CHECK(text_of(cluster, id, ReasonCode::kNoCpu) ==
        "asks for 4 CPU; the most that is free on one node with the GPUs it needs is 2 CPU, on n1");
  CHECK(text_of(cluster, id, ReasonCode::kNoMemory) ==
        "asks for 8GiB of memory; the most that is free on one node with the GPUs it needs is 4GiB of memory, on n1");
  check_pass_agrees(cluster, id);
}

TEST_CASE("model_unavailable: other models are free") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1, .model = "H100"});
  cluster.node({.name = "n2", .gpus = 4, .model = "A100"});
  cluster.running({.devices = 1, .models = {"H100"}});
  WorkloadId id = cluster.submit({.devices = 1, .models = {"H100"}});
  CHECK(codes(cluster, id) == Codes{ReasonCode::kModelUnavailable, ReasonCode::kNoCapacity});
  CHECK(text_of(cluster, id, ReasonCode::kModelUnavailable) ==
        "not enough H100 is free (0 GPU), while devices of other models are");
  CHECK(change_text(explain(cluster.view(), id), Dimension::kModel) == "allow A100 besides H100");
}

TEST_CASE("project_limit and ancestor_limit, with the one that must be raised") {
  Cluster cluster;
  cluster.department("research", {{testing::gpu_key(), {.limit = 4000}}});
  cluster.project("lab", {{testing::gpu_key(), {.limit = 3000}}}, "research");
  cluster.project("other", {}, "research");
  cluster.node({.name = "n1"});
  cluster.running({.project = "lab", .devices = 2});
  WorkloadId id = cluster.submit({.project = "lab", .devices = 2});
  Explanation why = explain(cluster.view(), id);
  CHECK(codes_of(why.reasons) == Codes{ReasonCode::kProjectLimit});
  CHECK(why.reasons[0].text == "project lab is limited to 3 GPUs in pool default and holds 2 GPUs; this needs 2 GPUs");
  CHECK(change_text(why, Dimension::kQuota) == "raise the limit of project lab in pool default from 3 GPUs to 4 GPUs");
  cluster.running({.project = "other", .devices = 1});
  CHECK(codes(cluster, id) == Codes{ReasonCode::kProjectLimit, ReasonCode::kAncestorLimit});
  CHECK(change_text(explain(cluster.view(), id), Dimension::kQuota).empty());  // one alone is not enough
  check_pass_agrees(cluster, id);
}

TEST_CASE("guarantee_needed: production outside a guarantee, and the class that would start") {
  Cluster cluster;
  cluster.project("lab", {{testing::gpu_key(), {.guaranteed = 1000}}});
  cluster.node({.name = "n1"});
  WorkloadId id = cluster.submit({.project = "lab", .priority_class = Class::kProduction, .devices = 2});
  Explanation why = explain(cluster.view(), id);
  CHECK(codes_of(why.reasons) == Codes{ReasonCode::kGuaranteeNeeded});
  CHECK(why.reasons[0].text ==
        "production must fit inside the guarantee of project lab: 1 GPU guaranteed in pool default, production holds 0 "
        "GPU, this needs 2 GPUs");
  CHECK(change_text(why, Dimension::kClass) == "with class training instead of production it would start now");
  CHECK(change_text(why, Dimension::kQuota) ==
        "raise the guarantee of project lab in pool default from 1 GPU to 2 GPUs");
}

TEST_CASE("a higher class that would evict is named, but does not start now") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  cluster.running({.priority_class = Class::kBatch, .devices = 1});
  WorkloadId id = cluster.submit({.priority_class = Class::kBatch, .devices = 1});
  Explanation why = explain(cluster.view(), id);
  REQUIRE(change_text(why, Dimension::kClass) ==
          "with class development instead of batch it would evict others and start when they have left");
  for (const Change& change : why.changes) CHECK(change.starts_now == (change.dimension != Dimension::kClass));
}

TEST_CASE("protected: by a guarantee, by min_runtime, by the bound of disruption") {
  Cluster cluster;
  cluster.project("lab", {{testing::gpu_key(), {.guaranteed = 2000}}});
  cluster.node({.name = "n1", .gpus = 2});
  cluster.running({.project = "lab", .priority_class = Class::kBatch, .devices = 2});
  WorkloadId id = cluster.submit({.devices = 1});
  CHECK(codes(cluster, id) == Codes{ReasonCode::kNoCapacity, ReasonCode::kProtected});
  CHECK(
      text_of(cluster, id, ReasonCode::kProtected) ==
      "1 workload could make room, but stands inside the guarantee of its project: w-0000000000001 (job-1) of project "
      "lab, which has 2 GPUs guaranteed in pool default");
  check_pass_agrees(cluster, id);

  Cluster young;
  young.node({.name = "n1", .gpus = 1});
  WorkloadSpec spec = testing::job({.devices = 1});
  spec.min_runtime = minutes(5);
  young.submit(spec);
  young.pass();
  WorkloadId urgent = young.submit({.devices = 1, .priority = 1});
  CHECK(text_of(young, urgent, ReasonCode::kProtected) ==
        "1 workload could make room, but has not yet run for its min_runtime: w-0000000000001 (job-1) "
        "asked for 5m");

  Cluster large;
  large.node({.name = "n1", .gpus = 8});
  large.running({.priority_class = Class::kBatch, .devices = 8});
  WorkloadId small = large.submit({.devices = 1});
  CHECK(text_of(large, small, ReasonCode::kProtected) ==
        "workloads of lower classes could make room, but more than 2 times of what this asks for would have to end");
  check_pass_agrees(large, small);
}

TEST_CASE("claimed_by: whom the room is kept for; the owner is told what it waits for") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.running({.priority_class = Class::kBatch, .devices = 1});
  WorkloadId owner = cluster.submit({.devices = 2});
  cluster.pass();
  WorkloadId other = cluster.submit({.priority_class = Class::kBatch, .devices = 1});
  CHECK(codes(cluster, other) == Codes{ReasonCode::kNoCapacity, ReasonCode::kClaimedBy, ReasonCode::kBehind});
  CHECK(text_of(cluster, other, ReasonCode::kClaimedBy) ==
        "room for it on node n1 is kept for w-0000000000002 (job-2), which others make way for: for at most 2m30s");
  Explanation why = explain(cluster.view(), owner);
  CHECK(why.reasons.at(0).text == "its place is kept; it starts when w-0000000000001 (job-1) has left, in 30s at most");
  CHECK(why.expected_start == cluster.state().now + seconds(30));
}

TEST_CASE("behind: the place in the queue, and who is just before it and why") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  cluster.running({.priority_class = Class::kProduction, .devices = 1});
  cluster.submit({.devices = 1, .priority = 3});
  WorkloadId id = cluster.submit({.devices = 1});
  CHECK(codes(cluster, id) == Codes{ReasonCode::kNoCapacity, ReasonCode::kBehind});
  CHECK(
      text_of(cluster, id, ReasonCode::kBehind) ==
      "number 2 in the queue of project default; just before it is w-0000000000002 (job-2), which has priority 3 with "
      "the hours it waited (this one 0)");
  WorkloadId batch = cluster.submit({.priority_class = Class::kBatch, .devices = 1});
  CHECK(text_of(cluster, batch, ReasonCode::kBehind) ==
        "number 3 in the queue of project default; just before it is w-0000000000003 (job-3), which has class training "
        "(this one batch)");
  check_pass_agrees(cluster, batch);
}

TEST_CASE("back_off and engine_error: until when, and what the engine said") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  WorkloadId id = cluster.running({.devices = 1});
  cluster.end(id, Outcome::kFailed, WorkloadState::kWaiting);
  cluster.change_workload(id, [&](Workload& workload) {
    workload.retries = 1;
    workload.eligible_from = cluster.state().now + seconds(10);
    workload.attempts.back().replicas[0].exit.error = "no such file: train.py";
  });
  Explanation why = explain(cluster.view(), id);
  CHECK(codes_of(why.reasons) == Codes{ReasonCode::kBackOff, ReasonCode::kEngineError});
  CHECK(why.reasons[0].text == "pauses after attempt 1 failed, for another 10s (rerun 1 of 3)");
  CHECK(why.reasons[1].text == "the last attempt could not be started: no such file: train.py");
  CHECK(why.expected_start == cluster.state().now + seconds(10));
  CHECK(why.changes.empty());
}

TEST_CASE("node_unavailable: nodes that would hold it if they took work") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 1});
  cluster.node({.name = "n2", .gpus = 1});
  cluster.change_node("n1", [](Node& node) { node.mode = NodeMode::kCordoned; });
  cluster.change_node("n2", [](Node& node) { node.gpus[0].health = Health::kUnhealthy; });
  WorkloadId id = cluster.submit({.devices = 1});
  CHECK(codes(cluster, id) == Codes{ReasonCode::kNoCapacity, ReasonCode::kNodeUnavailable});
  CHECK(text_of(cluster, id, ReasonCode::kNodeUnavailable) ==
        "it would fit if all nodes took work: n1 is cordoned, n2 is open, but a GPU is not healthy");
  check_pass_agrees(cluster, id);
}

TEST_CASE("never_fits and limit_exceeded of a dry run") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  cluster.quota("default", testing::gpu_key(), {.limit = 1000});
  Explanation why = explain_new(cluster.view(), testing::job({.devices = 3}), {});
  CHECK(codes_of(why.reasons) == Codes{ReasonCode::kNeverFits, ReasonCode::kLimitExceeded});
  CHECK(
      why.reasons[0].text ==
      "no node has that many devices of one model: asked for 3 devices on one node; at most 2 on the largest node. To "
      "do: ask for fewer devices, or spread them over replicas");
  CHECK(change_text(why, Dimension::kShare) == "ask for 1 GPU instead of 3 GPUs");
}

TEST_CASE("nothing to explain: it starts, runs, or does not exist") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  Explanation why = explain_new(cluster.view(), testing::job({.devices = 2}), {});
  CHECK(why.reasons.empty());
  CHECK(why.changes.empty());
  CHECK(why.expected_start == cluster.state().now);
  CHECK(explain(cluster.view(), cluster.running({.devices = 1})).reasons.empty());
  CHECK(explain(cluster.view(), WorkloadId{99}).reasons.empty());
}

TEST_CASE("declared duration limits make a start certain") {
  Cluster cluster;
  cluster.node({.name = "n1", .gpus = 2});
  for (int64_t minutes_left : {30, 10}) {
    WorkloadSpec spec = testing::job({.devices = 1});
    spec.duration_limit = minutes(minutes_left);
    cluster.submit(spec);
  }
  cluster.pass();
  WorkloadId one = cluster.submit({.devices = 1});
  WorkloadId two = cluster.submit({.devices = 2});
  CHECK(explain(cluster.view(), one).expected_start == cluster.state().now + minutes(10) + kGraceDefault);
  CHECK(explain(cluster.view(), two).expected_start == cluster.state().now + minutes(30) + kGraceDefault);
}

}  // namespace
}  // namespace moulin
