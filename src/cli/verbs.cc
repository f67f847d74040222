#include <vector>

#include "cli/commands/groups.h"
#include "cli/verb.h"

namespace moulin {

std::span<const Verb> verbs() {
  static const std::vector<Verb> kAll = [] {
    std::vector<Verb> all;
    for (std::span<const Verb> group : {main_verbs(), submit_verbs(), workload_verbs(), follow_verbs(), tree_verbs(),
                                        hardware_verbs(), identity_verbs(), server_verbs(), journal_verbs()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return kAll;
}

std::span<const std::string_view> verbs_not_built() {
  static constexpr std::string_view kLater[] = {"backup", "restore", "login",  "exec",     "top",
                                                "cost",   "secret",  "volume", "notebook", "app",
                                                "serve",  "flow",    "study",  "model",    "simulate"};
  return kLater;
}

}  // namespace moulin
