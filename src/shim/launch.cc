#include "shim/launch.h"

#include <algorithm>

#include "shim/record.h"

namespace moulin {
namespace {

constexpr std::string_view kKind = "launch";

bool has_nul(const std::string& text) { return text.find('\0') != text.npos; }

Status check(const ShimLaunch& launch) {
  auto invalid = [](const char* message) { return Error{.code = Code::kInvalid, .message = message}; };
  if (launch.argv.empty() || launch.argv[0].empty()) return invalid("the launch file names no command");
  if (launch.token.empty()) return invalid("the launch file holds no token");
  bool nul = std::ranges::any_of(launch.argv, has_nul) || std::ranges::any_of(launch.environment, has_nul) ||
             has_nul(launch.working_folder) || has_nul(launch.account);
  if (nul) return invalid("a NUL byte in the command, its environment or its working folder");
  return {};
}

}  // namespace

std::string encode_launch(const ShimLaunch& launch) { return encode_record(kKind, launch); }

Result<ShimLaunch> decode_launch(std::string_view bytes) {
  ShimLaunch launch = TRY(decode_record<ShimLaunch>(kKind, bytes));
  TRY(check(launch));
  return launch;
}

}  // namespace moulin
