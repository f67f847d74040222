// Tree, identity and hardware: what is refused, and what happens.
#include <doctest/doctest.h>

#include "base/text.h"
#include "core/testing.h"

namespace moulin {

namespace {

using Words = std::vector<std::string>;

command::CreateTreeNode project(std::string_view name, std::string_view parent = "organisation") {
  return {.name = TreeName(name), .parent = TreeName(parent), .quotas = {}};
}
command::CreateTreeNode department(std::string_view name, std::string_view parent) {
  return {.name = TreeName(name), .kind = TreeKind::kDepartment, .parent = TreeName(parent), .quotas = {}};
}
command::ChangeQuota quota(std::string_view at, Quota value, QuotaKey key = {}) {
  return {.at = TreeName(at), .key = std::move(key), .quota = value};
}
Token token(uint64_t id, std::string_view user) {
  return {.id = {id}, .user = UserName(user), .hash = std::string(32, 'x')};
}

}  // namespace

TEST_CASE("a new installation has the organisation and a project with the rest of it") {
  Core core;
  Result<Events> first = core.execute({.actor = {}, .at = Instant{1}, .body = command::BeginEpoch{}});
  CHECK(words_of(*first) == Words{"epoch_began", "tree_node_created", "tree_node_created"});
  CHECK(core.state().tree_node(kDefaultProject)->quotas.at(QuotaKey{}).rest);
  Result<Events> second = core.execute({.actor = {}, .at = Instant{2}, .body = command::BeginEpoch{}});
  CHECK(words_of(*second) == Words{"epoch_began"});
  CHECK(core.state().epoch == Epoch{2});
}

TEST_CASE("the tree grows to eight levels, under departments, with names of their own") {
  TestCluster cluster;
  std::string parent = "organisation";
  for (int level = 2; level <= kTreeDepthMax; ++level) {
    std::string name = "d" + std::to_string(level);
    CHECK(cluster.outcome(department(name, parent)) == Words{"tree_node_created"});
    parent = name;
  }
  CHECK(cluster.outcome(project("deep", parent)) == Words{"invalid"});
  CHECK(cluster.outcome(project("a", "default")) == Words{"invalid"});
  CHECK(cluster.outcome(project("a", "nowhere")) == Words{"not_found"});
  CHECK(cluster.outcome(project("d2")) == Words{"conflict"});
  CHECK(cluster.outcome(project("Bad Name")) == Words{"invalid"});
  command::CreateTreeNode root = department("root", "organisation");
  root.kind = TreeKind::kOrganisation;
  CHECK(cluster.outcome(root) == Words{"invalid"});
}

TEST_CASE("every part of a quota has its range") {
  TestCluster cluster;
  cluster.must(project("nlp"));
  auto refused = [&](Quota value, std::string_view part, QuotaKey key = {}) {
    Result<Events> done = cluster.give(quota("nlp", value, std::move(key)));
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code == Code::kInvalid);
    CHECK(done.error().field.ends_with(part));
  };
  refused({.guaranteed = -1}, "gpu.guaranteed");
  refused({.guaranteed = kQuotaAmountMax + 1}, "gpu.guaranteed");
  refused({.limit = -1}, "gpu.limit");
  refused({.guaranteed = 5, .limit = 4}, "gpu.guaranteed");
  refused({.weight = -1}, "gpu.weight");
  refused({.weight = kWeightMax + 1}, "gpu.weight");
  refused({.rank = kRankMax + 1}, "gpu.rank");
  refused({}, "cpu.H100", {.resource = Resource::kCpu, .model = ModelName("H100")});
  CHECK(cluster.outcome(quota("nlp", {.guaranteed = 4, .limit = 4})) == Words{"quota_changed"});
  CHECK(cluster.outcome(quota("nlp", {.guaranteed = 4, .limit = 4})).empty());
  CHECK(cluster.outcome(command::ChangeQuota{.at = TreeName("nlp"), .key = {}, .quota = {}}) == Words{"quota_changed"});
  CHECK(cluster.outcome(command::ChangeQuota{.at = TreeName("nlp"), .key = {}, .quota = {}}).empty());
  CHECK(cluster.outcome(quota("nowhere", {})) == Words{"not_found"});
  CHECK(cluster.outcome(quota("nlp", {.rest = true})) == Words{"conflict"});
  CHECK(cluster.outcome(quota("default", {.guaranteed = 1})) == Words{"quota_changed"});
  CHECK(cluster.outcome(quota("nlp", {.rest = true})) == Words{"quota_changed"});
}

TEST_CASE("users, tokens and roles come, go, and go together") {
  TestCluster cluster;
  UserName max("max");
  CHECK(cluster.outcome(command::CreateUser{.name = max, .account = "max"}) == Words{"user_created"});
  CHECK(cluster.outcome(command::CreateUser{.name = max, .account = {}}) == Words{"conflict"});
  CHECK(cluster.outcome(command::CreateUser{.name = UserName("Max!"), .account = {}}) == Words{"invalid"});
  CHECK(cluster.outcome(command::ChangeUser{.name = max, .account = "max"}).empty());
  CHECK(cluster.outcome(command::ChangeUser{.name = max, .account = "Mäx"}) == Words{"invalid"});
  CHECK(cluster.outcome(command::ChangeUser{.name = max, .account = "root"}, "max") == Words{"forbidden"});
  CHECK(cluster.outcome(command::ChangeUser{.name = UserName("nobody"), .account = {}}) == Words{"not_found"});
  CHECK(cluster.outcome(command::ChangeUser{.name = max, .account = {}}) == Words{"user_changed"});
  CHECK(cluster.core.state().users.at(max)->account.empty());
  CHECK(cluster.outcome(command::CreateUser{.name = UserName("eve"), .account = "root:x"}) == Words{"invalid"});
  CHECK(cluster.outcome(command::IssueToken{token(1, "max")}, "max") == Words{"token_issued"});
  CHECK(cluster.outcome(command::IssueToken{token(2, "max")}, "admin") == Words{"token_issued"});
  CHECK(cluster.outcome(command::IssueToken{token(3, "admin")}, "max") == Words{"forbidden"});
  CHECK(cluster.outcome(command::IssueToken{token(3, "nobody")}) == Words{"not_found"});
  Token late = token(3, "max");
  late.expires = cluster.now;
  CHECK(cluster.outcome(command::IssueToken{late}) == Words{"invalid"});
  Token chatty = token(3, "max");
  chatty.label = std::string(101, 'x');
  CHECK(cluster.outcome(command::IssueToken{chatty}) == Words{"invalid"});
  CHECK(cluster.outcome(command::RevokeToken{{2}}, "max") == Words{"token_revoked"});
  CHECK(cluster.outcome(command::RevokeToken{{9}}) == Words{"not_found"});
  CHECK(cluster.outcome(command::RevokeToken{{9}}, "max") == Words{"forbidden"});
  Binding binding{.user = max, .at = kDefaultProject, .role = Role::kMember};
  CHECK(cluster.outcome(command::GrantRole{binding}) == Words{"role_granted"});
  CHECK(cluster.outcome(command::GrantRole{binding}).empty());
  CHECK(cluster.outcome(command::GrantRole{binding}, "max") == Words{"forbidden"});
  CHECK(cluster.outcome(command::RemoveUser{max}) == Words{"user_removed"});
  CHECK(cluster.core.state().tokens.empty());
  CHECK_FALSE(cluster.core.state().bindings.contains(binding));
  CHECK(cluster.outcome(command::RevokeRole{binding}) == Words{"not_found"});
  CHECK(cluster.outcome(command::RemoveUser{UserName("admin")}) == Words{"conflict"});
}

TEST_CASE("a user has at most a hundred tokens") {
  TestCluster cluster;
  for (uint64_t id = 1; id <= 100; ++id) cluster.must(command::IssueToken{token(id, "admin")});
  CHECK(cluster.outcome(command::IssueToken{token(101, "admin")}) == Words{"conflict"});
  cluster.must(command::RevokeToken{{7}});
  CHECK(cluster.outcome(command::IssueToken{token(101, "admin")}) == Words{"token_issued"});
}

TEST_CASE("facts about nodes that cannot be are refused whole") {
  TestCluster cluster;
  auto with = [](auto change) {
    Node node = TestCluster::make_node("n2");
    change(node);
    return command::RegisterNode{node};
  };
  CHECK(cluster.outcome(with([](Node& node) { node.name = {}; })) == Words{"invalid"});
  CHECK(cluster.outcome(with([](Node& node) { node.name = NodeName(std::string(254, 'n')); })) == Words{"invalid"});
  CHECK(cluster.outcome(with([](Node& node) { node.cpu = {-1}; })) == Words{"invalid"});
  CHECK(cluster.outcome(with([](Node& node) { node.gpus[1].uuid = node.gpus[0].uuid; })) == Words{"invalid"});
  CHECK(cluster.outcome(with([](Node& node) { node.gpus[1].index = 2; })) == Words{"invalid"});
  CHECK(cluster.outcome(with([](Node& node) { node.gpus[1].reserve = node.gpus[1].memory; })) == Words{"invalid"});
  CHECK(cluster.outcome(with([](Node& node) { node.gpus.resize(65); })) == Words{"invalid"});
  CHECK(cluster.outcome(with([](Node&) {})) == Words{"node_registered"});
  CHECK(cluster.outcome(with([](Node&) {})).empty());
  CHECK(cluster.core.state().node(NodeName("n2"))->name == NodeName("n2"));
}

TEST_CASE("a node keeps its mode when it is registered again, and its devices while they are held") {
  TestCluster cluster;
  cluster.must(command::ChangeNodeMode{NodeName("n1"), NodeMode::kCordoned});
  Node node = TestCluster::make_node("n1");
  node.labels["rack"] = "r1";
  CHECK(cluster.outcome(command::RegisterNode{node}) == Words{"node_registered"});
  CHECK(cluster.core.state().node(NodeName("n1"))->mode == NodeMode::kCordoned);
  cluster.must(command::ChangeNodeMode{NodeName("n1"), NodeMode::kOpen});
  WorkloadId id = cluster.submit(TestCluster::make_spec("train"));
  cluster.run(id);
  node.gpus.pop_back();
  CHECK(cluster.outcome(command::RegisterNode{node}) == Words{"conflict"});
  CHECK(cluster.outcome(command::RemoveNode{NodeName("n1")}) == Words{"conflict"});
  cluster.end(id, {.code = 0});
  CHECK(cluster.outcome(command::RegisterNode{node}) == Words{"node_registered"});
  CHECK(cluster.outcome(command::RemoveNode{NodeName("n1")}) == Words{"node_removed"});
  CHECK(cluster.outcome(command::RemoveNode{NodeName("n1")}) == Words{"not_found"});
}

TEST_CASE("reports about nodes and devices change what they say, once") {
  TestCluster cluster;
  NodeName n1("n1");
  CHECK(cluster.outcome(command::ReportPresence{n1, Presence::kDown}) == Words{"node_presence_changed"});
  CHECK(cluster.outcome(command::ReportPresence{n1, Presence::kDown}).empty());
  CHECK(cluster.outcome(command::ReportPresence{NodeName("n9"), Presence::kDown}) == Words{"not_found"});
  Gpu gpu = cluster.core.state().node(n1)->gpus[3];
  CHECK(cluster.outcome(command::ReportGpu{n1, gpu}).empty());
  gpu.health = Health::kUnhealthy;
  CHECK(cluster.outcome(command::ReportGpu{n1, gpu}) == Words{"gpu_changed"});
  gpu.uuid = GpuUuid("another");
  CHECK(cluster.outcome(command::ReportGpu{n1, gpu}) == Words{"not_found"});
  gpu.index = 99;
  CHECK(cluster.outcome(command::ReportGpu{n1, gpu}) == Words{"not_found"});
}

TEST_CASE("only Moulin itself gives the commands of its inside") {
  TestCluster cluster;
  const std::vector<CommandBody> inside{command::TakeReport{StrangerFound{}},
                                        command::Start{},
                                        command::Evict{},
                                        command::EndPass{},
                                        command::Tick{},
                                        command::BeginEpoch{},
                                        command::MoveWallClock{},
                                        command::RegisterNode{},
                                        command::ReportPresence{},
                                        command::ReportGpu{},
                                        command::RemoveNode{}};
  for (const CommandBody& body : inside) CHECK(cluster.outcome(body, "admin") == Words{"forbidden"});
  CHECK(cluster.outcome(command::MoveWallClock{seconds(5)}) == Words{"wall_clock_moved"});
  CHECK(cluster.outcome(command::MoveWallClock{seconds(5)}).empty());
}

}  // namespace moulin
