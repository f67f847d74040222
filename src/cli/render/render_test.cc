#include "cli/render/hardware.h"
#include "cli/render/identity.h"
#include "cli/render/samples.h"
#include "cli/render/server.h"
#include "cli/render/top.h"
#include "cli/render/tree.h"
#include "cli/render/why.h"
#include "cli/render/workloads.h"
#include "cli/testing.h"

namespace moulin::cli {

namespace {

using testing::check_snapshot;
using testing::sample;
using testing::sample_view;

}  // namespace

TEST_CASE("workloads in a list") {
  auto page = sample<wire::WorkloadPage>(samples::kWorkloads);
  check_snapshot("ps", render_workloads(page, sample_view()));
  check_snapshot("ps_narrow", render_workloads(page, sample_view(100)));
  View coloured = sample_view(100);
  coloured.colour = View::Colour::kOn;
  check_snapshot("ps_coloured", render_workloads(page, coloured));
  CHECK(render_workloads({}, sample_view()) == "No workloads. `moulin ps -a` shows finished ones too.\n");
}

TEST_CASE("one workload") {
  check_snapshot("show_waiting", render_workload(sample<wire::Workload>(samples::kWaiting), sample_view()));
  check_snapshot("show_running", render_workload(sample<wire::Workload>(samples::kRunning), sample_view()));
}

TEST_CASE("why it waits") {
  auto workload = sample<wire::Workload>(samples::kWaiting);
  auto explanation = sample<wire::Explanation>(samples::kWhy);
  check_snapshot("why", render_why(workload, explanation, sample_view()));
  explanation.changes.clear();
  explanation.expected_start.reset();
  explanation.expected_start_reason = "nothing that runs has a declared limit, and no run of this kind has ended yet";
  check_snapshot("why_without_change", render_why(workload, explanation, sample_view(60)));
  explanation.state = WorkloadState::kRunning;
  CHECK(render_why(workload, explanation, sample_view()) ==
        "bert-finetune (w-0c9k2v7m3x1qz) does not wait: it is running, for 12m.\n");
}

TEST_CASE("the command of a change is one that can be typed") {
  auto workload = sample<wire::Workload>(samples::kWaiting);
  auto command = [&](std::string_view change) { return change_command(workload, {}, sample<wire::Change>(change)); };
  std::string like = "moulin run --like w-0c9k2v7m3x1qz --replace";
  CHECK(command(R"({"dimension":"share","from":null,"to":2000,"text":"","starts_now":true})") == like + " --gpu 2");
  CHECK(command(R"({"dimension":"share","from":null,"to":1500,"text":"","starts_now":true})").empty());
  CHECK(command(R"({"dimension":"cpu","from":null,"to":500,"text":"","starts_now":true})") == like + " --cpu 0.5");
  CHECK(command(R"({"dimension":"replicas","from":4,"to":2,"text":"","starts_now":true})") == like + " --replicas 2");
  CHECK(command(R"({"dimension":"model","from":null,"to":"T4","text":"","starts_now":true})") ==
        like + " --gpu-model T4");
  CHECK(command(R"({"dimension":"topology","from":null,"to":null,"text":"","starts_now":true})").empty());
  workload.spec = parse_json(R"({"resources": {"gpu": {"count": 2, "share": 0.5}}})").value();
  CHECK(command(R"({"dimension":"share","from":1000,"to":500,"text":"","starts_now":true})") == like + " --gpu 2x0.25");
}

TEST_CASE("the command of a change of quota names the bound that is in the way") {
  auto change =
      sample<wire::Change>(R"({"dimension":"quota","from":1,"to":1073741824,"at":"lab","text":"","starts_now":true})");
  wire::Explanation explanation;
  CHECK(change_command({}, explanation, change).empty());
  explanation.reasons.push_back(
      {.code = ReasonCode::kAncestorLimit, .names = {{"department", "lab"}, {"resource", "memory"}, {"pool", "old"}}});
  CHECK(change_command({}, explanation, change) ==
        "moulin department quota lab --limit 1GiB --resource memory --pool old");
  explanation.reasons[0] = {.code = ReasonCode::kGuaranteeNeeded,
                            .names = {{"project", "lab"}, {"resource", "gpu"}, {"pool", "default"}, {"model", "T4"}}};
  change.to = 2500;
  CHECK(change_command({}, explanation, change) == "moulin project quota lab --guaranteed 2.5 --model T4");
}

TEST_CASE("the quota tree and the queue") {
  check_snapshot("quota", render_quota(sample<wire::QuotaList>(samples::kQuota), sample_view()));
  check_snapshot("queue", render_queue(sample<wire::QueuePage>(samples::kQueue), sample_view(120)));
  auto nodes = sample<wire::TreeNodeList>(samples::kTree);
  check_snapshot("project_list", render_tree_nodes(nodes, sample_view()));
  check_snapshot("project_show", render_tree_node(nodes.items[1], sample_view()));
  CHECK(render_queue({}, sample_view()) == "Nothing waits.\n");
}

TEST_CASE("hardware") {
  auto gpus = sample<wire::FreeGpus>(samples::kGpus);
  check_snapshot("gpus", render_free_gpus(gpus, sample_view()));
  gpus.items.clear();
  gpus.note = "no driver was found";
  check_snapshot("gpus_none", render_free_gpus(gpus, sample_view()));
  auto node = sample<wire::Node>(samples::kNode);
  check_snapshot("node_show", render_node(node, sample_view()));
  wire::Node down = node;
  down.presence = Presence::kDown;
  down.simulated = true;
  down.gpus.clear();
  check_snapshot("node_list", render_nodes({.items = {node, down}}, sample_view()));
}

TEST_CASE("what the devices do now") {
  TopPicture picture{.nodes = {sample<wire::Node>(samples::kNode)},
                     .workloads = sample<wire::WorkloadPage>(samples::kWorkloads).items};
  picture.workloads[0].gpu_active_seconds = seconds(9);
  check_snapshot("top", render_top(picture, sample_view()));
  wire::Node crowd = picture.nodes[0];
  for (int i = 0; i < 40; ++i) picture.nodes.push_back(crowd);
  picture.nodes[7].name = "fullest";
  picture.nodes[7].gpus[0].free_milli = {};
  View small = sample_view(70);
  small.height = 12;
  std::string text = render_top(picture, small);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 12);
  check_snapshot("top_of_many", text);
  CHECK(render_top({}, sample_view()) == "12:00:00  0 nodes, 0 GPUs: 0 held; 0 workloads\n");
}

TEST_CASE("what has ended already was not stopped") {
  auto text = [](WorkloadState state) {
    return render_summary({.id = {7}, .name = "a", .state = state}, sample_view());
  };
  CHECK(text(WorkloadState::kSucceeded) == "w-0000000000007 a has already succeeded\n");
  CHECK(text(WorkloadState::kFailed) == "w-0000000000007 a has already failed\n");
  CHECK(text(WorkloadState::kStopping) == "w-0000000000007 a is stopping\n");
}

TEST_CASE("people") {
  wire::Token token{.id = {7}, .user = "ada", .label = "ci", .issued = testing::sample_now()};
  token.expires = WallTime{token.issued.us - 1};
  check_snapshot("token_list", render_tokens({.items = {token}}, sample_view()));
  wire::Myself myself{.user = "ada", .token = {7}, .label = "laptop"};
  Whereabouts where{.server = "http://127.0.0.1:6468", .server_from = "MOULIN_URL", .token_from = "MOULIN_TOKEN"};
  check_snapshot("whoami_without_role", render_myself(myself, where, sample_view()));
  myself.roles = {{.user = "ada", .at = "nlp", .role = Role::kMember}};
  myself.account = "ada";
  myself.can_isolate_users = true;
  check_snapshot("whoami", render_myself(myself, where, sample_view()));
  check_snapshot("user_list",
                 render_users({.items = {{.name = "ada", .account = "a1", .created = testing::sample_now()},
                                         {.name = "grace", .created = testing::sample_now()}}},
                              {.items = {myself.roles[0], {.user = "ada", .at = "vision"}}}, sample_view()));
  check_snapshot("role_list", render_bindings({.items = myself.roles}, sample_view()));
  wire::IssuedToken issued{
      .id = {7}, .user = "ada", .label = "ci", .issued = testing::sample_now(), .secret = "s3cret"};
  check_snapshot("token_create", render_issued_token(issued, sample_view()));
}

TEST_CASE("events and verdicts of the server") {
  check_snapshot("events", render_events(sample<wire::EventPage>(samples::kEvents), sample_view()));
  check_snapshot("dry_run", render_dry_run(sample<wire::DryRun>(samples::kDryRun), sample_view()));
}

TEST_CASE("what was submitted") {
  wire::Submitted submitted;
  for (uint64_t i = 1; i <= 12; ++i) {
    submitted.ids.push_back({i});
    submitted.workloads.push_back({.id = {i}, .name = "sweep-" + std::to_string(i), .project = "nlp"});
  }
  check_snapshot("submitted_many", render_submitted(submitted, sample_view()));
}

TEST_CASE("how a replica ended") {
  auto text = [](std::string_view json) { return exit_text(sample<wire::Exit>(json)); };
  CHECK(text(R"({"code":3,"limit_hit":false,"vanished":false})") == "exit code 3");
  CHECK(text(R"({"signal":9,"limit_hit":false,"vanished":false})") == "ended by signal 9");
  CHECK(text(R"({"error":"no such program: trian","limit_hit":false,"vanished":false})") ==
        "could not run: no such program: trian");
  CHECK(text(R"({"signal":9,"error":"16GiB of memory","limit_hit":true,"vanished":false})") ==
        "crossed a limit: 16GiB of memory");
  CHECK(text(R"({"limit_hit":false,"vanished":true})") == "vanished with its node, or when the machine restarted");
}

TEST_CASE("what others wrote cannot forge lines") {
  auto workload = sample<wire::Workload>(samples::kWaiting);
  workload.tags["x"] = "a\x1b[2J\nstate  succeeded";
  workload.spec = parse_json(R"({"run": "a\nb"})").value();
  std::string text = render_workload(workload, sample_view());
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\nstate  succeeded") == std::string::npos);
  CHECK(text.find("a\\nb") != std::string::npos);
}

}  // namespace moulin::cli
