#include "server/handlers/code_folder.h"

#include <algorithm>

#include "engine/local/code_snapshot.h"

namespace moulin {

namespace {

bool wants_snapshot(const command::NewWorkload& item) {
  return item.spec.code == CodeMode::kSnapshot && !item.spec.folder.empty();
}

// A server that is root may read what the user may not: it copies only for root itself.
Status check_rights(const Call& call) {
  if (!call.world.facts.isolates_users) return {};
  const Cow<User>* user = call.state().users.find(call.actor.user);
  if (user != nullptr && (*user)->account == "root") return {};
  return Error{.code = Code::kRefused,
               .message = "this server runs as root and does not read folders for others",
               .field = "code",
               .given = "snapshot",
               .allowed = "live",
               .to_do = "use `code: live`, and do not change the folder while the workload runs"};
}

}  // namespace

bool wants_snapshot(const command::Submit& submit) {
  return std::ranges::any_of(submit.workloads, [](const command::NewWorkload& item) { return wants_snapshot(item); });
}

Status take_snapshots(const Call& call, command::Submit& submit) {
  TRY(check_rights(call));
  const std::string snapshots = call.world.facts.data_folder + "/snapshots";
  std::map<std::string, std::string> taken;  // by folder
  for (command::NewWorkload& item : submit.workloads) {
    if (!wants_snapshot(item)) continue;
    auto [known, is_new] = taken.try_emplace(item.spec.folder);
    if (is_new) {
      StoredSnapshot stored = TRY(store_snapshot(item.spec.folder, snapshots));
      TRY(materialise_snapshot(stored.id, snapshots));
      known->second = stored.id.text;
    }
    item.spec.snapshot = known->second;
  }
  return {};
}

}  // namespace moulin
