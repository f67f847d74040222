#include "core/may.h"

#include <doctest/doctest.h>

#include "core/testing.h"

namespace moulin {

namespace {

// organisation > science > (nlp, vision); each role at each level.
struct Offices : TestCluster {
  Offices() {
    must(command::CreateTreeNode{
        .name = TreeName("science"), .kind = TreeKind::kDepartment, .parent = kRootTree, .quotas = {}});
    for (std::string_view name : {"nlp", "vision"})
      must(command::CreateTreeNode{.name = TreeName(name), .parent = TreeName("science"), .quotas = {}});
    for (Role role : {Role::kViewer, Role::kMember, Role::kAdmin}) {
      for (std::string_view at : {"organisation", "science", "nlp"}) {
        UserName user(std::string(to_text(role)) + "-" + std::string(at));
        must(command::CreateUser{.name = user, .account = {}});
        must(command::GrantRole{Binding{.user = user, .at = TreeName(at), .role = role}});
      }
    }
    must(command::CreateUser{.name = UserName("nobody"), .account = {}});
  }
  bool can(std::string_view user, Verb verb, std::string_view at) const {
    return may(core.state(), {.user = UserName(user), .workload = {}}, verb, TreeName(at));
  }
};

const std::array kVerbs{Verb::kSee, Verb::kSubmit, Verb::kManageWorkload, Verb::kManageTree, Verb::kManageSystem};
const std::array<std::string_view, 4> kPlaces{"organisation", "science", "nlp", "vision"};

}  // namespace

TEST_CASE("a role holds at its node and below, and for what it is meant for") {
  Offices offices;
  for (Role role : {Role::kViewer, Role::kMember, Role::kAdmin}) {
    for (std::string_view held : {"organisation", "science", "nlp"}) {
      std::string user = std::string(to_text(role)) + "-" + std::string(held);
      for (std::string_view place : kPlaces) {
        bool covers = held == "organisation" || (held == "science" && place != "organisation") || held == place;
        CAPTURE(user);
        CAPTURE(place);
        CHECK(offices.can(user, Verb::kSee, place) == covers);
        CHECK(offices.can(user, Verb::kSubmit, place) == (covers && role >= Role::kMember));
        CHECK(offices.can(user, Verb::kManageWorkload, place) == (covers && role == Role::kAdmin));
        CHECK(offices.can(user, Verb::kManageTree, place) == (covers && role == Role::kAdmin));
        CHECK(offices.can(user, Verb::kManageSystem, place) == (held == "organisation" && role == Role::kAdmin));
      }
    }
  }
}

TEST_CASE("Moulin itself may everything, a stranger nothing, and nobody anything where nothing is") {
  Offices offices;
  for (Verb verb : kVerbs) {
    for (std::string_view place : kPlaces) {
      CHECK(may(offices.core.state(), {}, verb, TreeName(place)));
      CHECK_FALSE(offices.can("nobody", verb, place));
      CHECK_FALSE(offices.can("never-heard-of", verb, place));
    }
    if (verb != Verb::kManageSystem) CHECK_FALSE(offices.can("admin-organisation", verb, "nowhere"));
  }
}

TEST_CASE("the token of a workload sees its own project and nothing else") {
  Offices offices;
  WorkloadSpec spec = TestCluster::make_spec("train");
  spec.project = TreeName("nlp");
  WorkloadId id = offices.submit(spec);
  for (Verb verb : kVerbs) {
    for (std::string_view place : kPlaces) {
      Actor actor{.user = UserName("admin-organisation"), .workload = id};
      CHECK(may(offices.core.state(), actor, verb, TreeName(place)) == (verb == Verb::kSee && place == "nlp"));
      actor.workload = {12345};
      CHECK_FALSE(may(offices.core.state(), actor, verb, TreeName(place)));
    }
  }
}

TEST_CASE("who may not see a thing is told that it is not there; who may, which role is missing") {
  Offices offices;
  auto code = [&](std::string_view user, Verb verb, std::string_view at) {
    Status status = require(offices.core.state(), {.user = UserName(user), .workload = {}}, verb, TreeName(at));
    return status ? std::string("yes") : std::string(to_text(status.error().code));
  };
  CHECK(code("member-nlp", Verb::kSubmit, "nlp") == "yes");
  CHECK(code("member-nlp", Verb::kManageTree, "nlp") == "forbidden");
  CHECK(code("member-nlp", Verb::kSubmit, "vision") == "not_found");
  CHECK(code("member-nlp", Verb::kSee, "vision") == "not_found");
  CHECK(code("member-nlp", Verb::kManageSystem, "organisation") == "forbidden");
  CHECK(code("nobody", Verb::kManageTree, "organisation") == "forbidden");
  CHECK(code("admin-organisation", Verb::kSubmit, "nowhere") == "not_found");
  Status status =
      require(offices.core.state(), {.user = UserName("viewer-nlp"), .workload = {}}, Verb::kSubmit, TreeName("nlp"));
  CHECK(status.error().message == "viewer-nlp may not submit workloads to nlp");
  CHECK(status.error().allowed == "users with the role member at nlp or above it");
}

TEST_CASE("beside a workload run commands its owner, as long as a member, and who may everything") {
  Offices offices;
  Workload workload{.spec = {.project = TreeName("nlp")}, .owner = UserName("member-nlp")};
  auto code = [&](std::string_view user, WorkloadId as = {}) {
    Status status = require_exec(offices.core.state(), {.user = UserName(user), .workload = as}, workload);
    return status ? std::string("yes") : std::string(to_text(status.error().code));
  };
  CHECK(code("member-nlp") == "yes");
  CHECK(code("admin-organisation") == "yes");
  for (std::string_view user : {"admin-nlp", "admin-science", "member-science", "member-organisation", "viewer-nlp"}) {
    CAPTURE(user);
    CHECK(code(user) == "forbidden");
  }
  CHECK(code("nobody") == "not_found");
  CHECK(code("member-nlp", {7}) == "not_found");  // the token of a workload of theirs
  workload.owner = UserName("viewer-nlp");        // has lost the role
  CHECK(code("viewer-nlp") == "forbidden");
  workload.owner = UserName("nobody");
  CHECK(code("nobody") == "not_found");
}

}  // namespace moulin
