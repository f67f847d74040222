#include <doctest/doctest.h>

#include "core/testing.h"

namespace moulin {

namespace {

using Words = std::vector<std::string>;

command::Submit request(uint64_t id, std::string_view name, std::string_view key, std::string_view digest) {
  return {.workloads = {{.id = {id}, .spec = TestCluster::make_spec(name), .origin = {}}},
          .key = std::string(key),
          .digest = std::string(digest)};
}

}  // namespace

TEST_CASE("a request under a key is answered once, per user, for a day") {
  TestCluster cluster;
  CHECK(cluster.outcome(request(1, "a", "k", "x"), "admin") == Words{"workload_submitted", "request_remembered"});
  CHECK(cluster.outcome(request(2, "a", "k", "x"), "admin").empty());
  CHECK(cluster.outcome(request(2, "b", "k", "y"), "admin") == Words{"conflict"});
  CHECK(cluster.outcome(request(2, "b", "k", "y")) == Words{"workload_submitted", "request_remembered"});
  const Cow<RememberedRequest>* request_of_admin = cluster.core.state().requests.find({UserName("admin"), "k"});
  REQUIRE(request_of_admin != nullptr);
  CHECK((*request_of_admin)->made == std::vector<WorkloadId>{{1}});
  cluster.now = cluster.now + hours(24);
  cluster.must(command::Tick{});
  CHECK(cluster.core.state().requests.size() == 2);
  cluster.now = cluster.now + hours(1) + seconds(1);
  CHECK(words_of(cluster.must(command::Tick{})) == Words{"requests_forgotten"});
  CHECK(cluster.core.state().requests.empty());
}

TEST_CASE("requests that are too long, too many or none are refused") {
  TestCluster cluster;
  CHECK(cluster.outcome(request(1, "a", std::string(201, 'k'), "x")) == Words{"invalid"});
  CHECK(cluster.outcome(request(1, "a", std::string(200, 'k'), "x")).size() == 2);
  CHECK(cluster.outcome(command::Submit{}) == Words{"too_large"});
  command::Submit many;
  for (uint64_t id = 10; id <= 10 + kSubmitMax; ++id)
    many.workloads.push_back({.id = {id}, .spec = TestCluster::make_spec("w" + std::to_string(id)), .origin = {}});
  CHECK(cluster.outcome(many) == Words{"too_large"});
}

TEST_CASE("unfinished workloads are limited by project and in all, and an end makes room") {
  TestCluster cluster;
  for (std::string_view name : {"one", "two"}) {
    cluster.must(command::CreateTreeNode{TreeName(name), TreeKind::kProject, kRootTree, {}});
  }
  cluster.core = Core(cluster.core.state(), {.in_all = 4, .in_project = 2});
  auto submit = [&](std::string_view project, std::initializer_list<uint64_t> ids) {
    command::Submit some;
    for (uint64_t id : ids) {
      WorkloadSpec spec = TestCluster::make_spec("w" + std::to_string(id));
      spec.project = TreeName(project);
      some.workloads.push_back({.id = {id}, .spec = spec, .origin = {}});
    }
    return cluster.give(some, "admin");
  };
  CHECK(submit("one", {1, 2, 3}).error().code == Code::kTooMany);
  CHECK(submit("one", {1, 2}));
  Error full = submit("one", {3}).error();
  CHECK(full.message == "too many unfinished workloads in project one");
  CHECK(full.given == "1 beside 2 that are unfinished");
  CHECK(full.allowed == "2 in all");
  CHECK(submit("two", {3, 4}));
  CHECK(submit("default", {5}).error().message == "too many unfinished workloads in this installation");
  cluster.must(command::Pause{{1}});
  CHECK(submit("one", {5}).error().code == Code::kTooMany);
  cluster.must(command::Stop{{1}});
  CHECK(submit("one", {5}));
}

TEST_CASE("one bad workload refuses the whole request") {
  TestCluster cluster;
  command::Submit both = request(1, "a", "", "");
  both.workloads.push_back({.id = {2}, .spec = TestCluster::make_spec("b"), .origin = {}});
  SUBCASE("the same name twice") { both.workloads[1].spec.name = "a"; }
  SUBCASE("a project that is not there") { both.workloads[1].spec.project = TreeName("nowhere"); }
  SUBCASE("a project that is a department") { both.workloads[1].spec.project = kRootTree; }
  SUBCASE("more than there is") { both.workloads[1].spec.resources.gpu.count = 9; }
  Result<Events> done = cluster.give(both);
  CHECK_FALSE(done.has_value());
  CHECK(cluster.core.state().workloads.empty());
}

TEST_CASE("of an array only the first element is measured, of others each") {
  TestCluster cluster;
  command::Submit both = request(1, "a", "", "");
  both.workloads.push_back({.id = {2}, .spec = TestCluster::make_spec("b"), .origin = {}});
  for (command::NewWorkload& item : both.workloads) item.origin = {.kind = OriginKind::kArray, .name = "sweep"};
  CHECK(cluster.outcome(both) == Words{"workload_submitted", "workload_submitted"});
  both.workloads[0].id = {3};
  both.workloads[0].spec.name = "c";
  both.workloads[0].spec.resources.gpu.count = 9;
  both.workloads.pop_back();
  CHECK(cluster.outcome(both) == Words{"refused"});
}

TEST_CASE("a refusal names the file of the request, and each array is measured") {
  TestCluster cluster;
  command::Submit many = request(1, "a", "", "");
  for (uint64_t id = 2; id <= 5; ++id)
    many.workloads.push_back({.id = {id}, .spec = TestCluster::make_spec("w" + std::to_string(id)), .origin = {}});
  for (size_t i : {3u, 4u}) many.workloads[i].origin = {.kind = OriginKind::kArray, .name = "sweep"};
  for (size_t i = 0; i < 5; ++i) many.workloads[i].place = std::min<size_t>(i, 3);
  REQUIRE(cluster.give(command::Submit(many)).has_value());
  for (command::NewWorkload& item : many.workloads) {
    item.id.number += 10;
    item.spec.name += "-again";
  }
  many.workloads[1].spec.project = TreeName("nowhere");
  many.workloads[2].spec.name = many.workloads[0].spec.name;
  many.workloads[3].spec.resources.gpu.count = 9;
  Command asked{.actor = {}, .at = cluster.now, .body = many};
  Result<Events> refused = cluster.give(command::Submit(many));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().field == "workloads[1].project");

  Agenda agenda;
  auto found = refusals({cluster.core.state(), cluster.core.index(), agenda}, asked);
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 3);
  CHECK(found->at(1).field == "workloads[1].project");
  CHECK(found->at(2).field == "workloads[2].name");
  CHECK(found->at(3).field == "workloads[3].resources.gpu");
}

TEST_CASE("events carry who caused them and when") {
  TestCluster cluster;
  cluster.now = cluster.now + seconds(7);
  Result<Events> done = cluster.give(request(1, "a", "", ""), "admin");
  REQUIRE(done.has_value());
  CHECK(done->front().actor == UserName("admin"));
  CHECK(done->front().at == cluster.now);
  CHECK(cluster.workload({1}).owner == UserName("admin"));
  CHECK(cluster.workload({1}).submitted == cluster.now);
}

}  // namespace moulin
