#include "engine/local/environment.h"

#include <fmt/format.h>
#include <sodium.h>

#include "engine/local/attempt_store.h"
#include "shim/launch.h"

namespace moulin {
namespace {

std::string join_grants(const std::vector<Grant>& grants, std::string (*part)(const Grant&)) {
  std::string joined;
  for (const Grant& grant : grants) {
    if (!joined.empty()) joined += ',';
    joined += part(grant);
  }
  return joined;
}

}  // namespace

std::string checkpoint_file(const ReplicaLaunch& launch, const std::string& folder) {
  if (!launch.checkpoint_file.empty()) return launch.checkpoint_file;
  return fmt::format("{}/{}", kept_folder(folder), attempt_files::kCheckpoint);
}

std::string replica_mark(const ReplicaKey& key, const std::string& secret) {
  unsigned char digest[16];
  auto* bytes = reinterpret_cast<const unsigned char*>(secret.data());
  crypto_generichash(digest, sizeof digest, bytes, secret.size(), nullptr, 0);
  std::string hex;
  for (unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return fmt::format("{}.{}.{}-{}", to_text(key.workload), key.attempt.value, key.replica.value, hex);
}

std::vector<std::string> replica_environment(const ReplicaLaunch& launch, const AttemptPlace& place,
                                             const InheritedEnvironment& inherited) {
  std::map<std::string, std::string> variables = launch.environment;
  auto add = [&](const std::string& name, std::string value) { variables.try_emplace(name, std::move(value)); };
  auto exchange = [&](const char* name) {
    return fmt::format("{}/{}/{}", place.folder, attempt_files::kExchange, name);
  };
  auto share = [](const Grant& grant) { return fmt::format("{}", grant.share.milli); };
  auto uuid = [](const Grant& grant) { return to_text(grant.gpu); };
  for (const auto& [name, value] : inherited) {
    if (name != "HOME" || launch.account.empty()) add(name, value);
  }
  add("MOULIN_WORKLOAD_ID", to_text(launch.key.workload));
  add("MOULIN_ATTEMPT", fmt::format("{}", launch.key.attempt.value));
  add("MOULIN_REPLICA", fmt::format("{}", launch.key.replica.value));
  add("MOULIN_FLAG_FILE", exchange(attempt_files::kFlag));
  add("MOULIN_CHECKPOINT_FILE", checkpoint_file(launch, place.folder));
  add("MOULIN_DONE_FILE", exchange(attempt_files::kDone));
  add("MOULIN_ACTIVITY_FILE", exchange(attempt_files::kActivity));
  add("MOULIN_GPU_SHARES", join_grants(launch.grants, share));
  add("CUDA_VISIBLE_DEVICES", join_grants(launch.grants, uuid));
  if (launch.limits.cpu.milli > 0) add("OMP_NUM_THREADS", fmt::format("{}", (launch.limits.cpu.milli + 999) / 1000));
  variables.insert_or_assign("MOULIN_MARK", place.mark);

  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

}  // namespace moulin
