// What `moulin up` was asked for.
#pragma once

#include <string>
#include <vector>

#include "api/http_server.h"
#include "cli/call.h"
#include "engine/local/old_attempts.h"
#include "server/installation.h"

namespace moulin {

using cli::Call;

struct UpOptions {
  enum class EngineKind { kLocal, kVirtual };
  std::string data{};  // absolute
  TcpAddress listen{};
  std::vector<std::string> hosts{};  // further names, lower case
  std::string base_path{};           // "" or "/moulin"
  std::string simulate{};  // as simulate_spec.h; empty: real devices
  EngineKind engine = EngineKind::kLocal;
  LogsKept logs_kept{};
  FolderOrigin origin = FolderOrigin::kBegunHere;
  bool wants_service = false;
  std::string unit_folder{};  // empty: where systemd looks
};

// kInvalid names the option.
Result<UpOptions> read_up_options(const Call& call);

// The options that a service gives to `moulin up`, so that it serves the same.
std::vector<std::string> service_arguments(const UpOptions& options);

}  // namespace moulin
