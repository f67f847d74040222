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
  std::map<WorkloadId, command::Evict> by_owner;
  for (const Claim& claim : plan.claims) by_owner[claim.owner].claim = claim;
  for (const EvictItem& item : plan.evictions) {
    if (auto owner = by_owner.find(item.beneficiary); owner != by_owner.end()) {
      owner->second.evictions.push_back(item);
    } else {
      commands.push_back({.actor = {}, .at = at, .body = command::Evict{{item}, std::nullopt}});
    }
  }
  for (auto& [owner, evict] : by_owner) commands.push_back({.actor = {}, .at = at, .body = std::move(evict)});
  return commands;
}

}  // namespace moulin
