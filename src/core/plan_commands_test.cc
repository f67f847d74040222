#include "core/plan_commands.h"

#include <doctest/doctest.h>

namespace moulin {

TEST_CASE("a plan becomes commands in its order, a claim together with its evictions") {
  Plan plan;
  plan.starts = {{.workload = {1}, .replicas = {}}, {.workload = {2}, .replicas = {}, .surplus = true}};
  plan.evictions = {{.victim = {10}, .replicas = {}, .cause = Cause::kHigherClass, .beneficiary = {9}},
                    {.victim = {11}, .replicas = {}, .cause = Cause::kDrain, .beneficiary = {}},
                    {.victim = {12}, .replicas = {}, .cause = Cause::kHigherClass, .beneficiary = {5}},
                    {.victim = {13}, .replicas = {}, .cause = Cause::kHigherClass, .beneficiary = {9}}};
  for (uint64_t owner : {9U, 7U, 5U}) plan.claims.push_back({.owner = {owner}, .places = {}, .victims = {}});
  int asked = 0;
  auto identity = [&](const StartItem&) { return command::AttemptIdentity{.token = "t" + std::to_string(++asked)}; };
  std::vector<Command> commands = commands_of(plan, Instant{5}, identity);
  REQUIRE(commands.size() == 6);
  CHECK(asked == 1);
  CHECK(std::get<command::Start>(commands[0].body).identity.token == "t1");
  CHECK(std::get<command::Start>(commands[1].body).identity.token.empty());
  const auto& drain = std::get<command::Evict>(commands[2].body);
  CHECK(drain.evictions.front().victim == WorkloadId{11});
  CHECK_FALSE(drain.claim.has_value());
  const auto& first = std::get<command::Evict>(commands[3].body);
  CHECK(first.claim->owner == WorkloadId{9});
  REQUIRE(first.evictions.size() == 2);
  CHECK(first.evictions[1].victim == WorkloadId{13});
  const auto& rests_on_others = std::get<command::Evict>(commands[4].body);
  CHECK(rests_on_others.claim->owner == WorkloadId{7});
  CHECK(rests_on_others.evictions.empty());
  CHECK(std::get<command::Evict>(commands[5].body).claim->owner == WorkloadId{5});
  for (const Command& command : commands) CHECK((command.at == Instant{5} && command.actor.is_system()));
}

}  // namespace moulin
