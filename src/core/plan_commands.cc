#include "core/plan_commands.h"

#include <map>

namespace moulin {

std::vector<Command> commands_of(const Plan& plan, Instant at,
                                 const std::function<command::AttemptIdentity(const StartItem&)>& identity_for) {
  std::vector<Command> commands;
  for (const StartItem& item : plan.starts) {
    command::AttemptIdentity identity = item.surplus ? command::AttemptIdentity{} : identity_for(item);
    commands.push_back({.actor = {}, .at = at, .body = command::Start{item, std::move(identity)}});
  }
  // A later claim may rest on what the victims of an earlier one leave over: the order stays.
  std::map<WorkloadId, size_t> command_of_owner;
  std::vector<command::Evict> with_claims;
  for (const Claim& claim : plan.claims) {
    command_of_owner.emplace(claim.owner, with_claims.size());
    with_claims.push_back({.evictions = {}, .claim = claim});
  }
  for (const EvictItem& item : plan.evictions) {
    if (auto owner = command_of_owner.find(item.beneficiary); owner != command_of_owner.end()) {
      with_claims[owner->second].evictions.push_back(item);
    } else {
      commands.push_back({.actor = {}, .at = at, .body = command::Evict{{item}, std::nullopt}});
    }
  }
  for (command::Evict& evict : with_claims) commands.push_back({.actor = {}, .at = at, .body = std::move(evict)});
  return commands;
}

}  // namespace moulin
