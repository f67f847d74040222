// `moulin up --service`: hands the server over to systemd.
#pragma once

#include <string>

#include "base/result.h"
#include "main/service_unit.h"

namespace moulin {

// Where and how a service of the caller is installed: of the system for root, else of the
// user. kUnavailable: the own program or the home folder cannot be found.
Result<ServiceFacts> service_facts();

struct InstalledService {
  std::string unit;      // path of the unit
  bool started = false;  // by a systemd that runs here
};

enum class ServiceStart { kNow, kLater };

// Writes the unit, replaced as a whole; with kNow, where systemd runs, it is read, enabled
// and started, too. The data folder and the address are in facts.arguments. kUnavailable: the
// folder cannot be written, or systemctl failed, with what it said.
Result<InstalledService> install_service(const ServiceFacts& facts, ServiceStart start);

}  // namespace moulin
