// The systemd unit of a server, as text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace moulin {

enum class ServiceScope { kSystem, kUser };  // of root, or of the user who asks

struct ServiceFacts {
  ServiceScope scope = ServiceScope::kSystem;
  std::string program;                   // absolute path of moulin
  std::vector<std::string> arguments{};  // behind `moulin up`
  std::string unit_folder{};             // absolute, where units of that scope lie
};

inline constexpr const char* kServiceName = "moulin.service";

// kInvalid: a word that no unit can hold, such as one with a line end.
Result<std::string> service_unit(const ServiceFacts& facts);

}  // namespace moulin
