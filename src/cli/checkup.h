// What `doctor` finds: everything that is not as it should be, and what to do about it.
// Pure; the verb asks the server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/wire_types.h"
#include "cli/access.h"
#include "cli/view.h"

namespace moulin::cli {

struct Finding {
  enum class Verdict {
    kGood,
    kNote,     // works, but for less than it could
    kTrouble,  // something does not work
  };
  std::string name;
  Verdict verdict = Verdict::kGood;
  std::string text;
  std::string to_do{};  // empty when nothing is to do
};

// What could be learned. Each later part needs those before it.
struct Checkup {
  const Access& access;
  std::string client_version{};
  std::optional<Error> refusal{};  // of the first question that was not answered
  std::optional<wire::Server> server{};
  std::optional<wire::Myself> myself{};
  std::vector<wire::Node> nodes{};
};

// In the order in which one would look.
std::vector<Finding> findings_of(const Checkup& checkup, const View& view);

// One line for each, with what to do below it.
std::string render_findings(const std::vector<Finding>& findings, const View& view);

}  // namespace moulin::cli
