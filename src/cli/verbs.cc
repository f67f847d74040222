#include <array>
#include <utility>
#include <vector>

#include "cli/commands/groups.h"
#include "cli/verb.h"

namespace moulin::cli {

std::span<const Verb> verbs() {
  static const std::vector<Verb> kAll = [] {
    std::vector<Verb> all;
    for (std::span<const Verb> group :
         {main_verbs(), submit_verbs(), workload_verbs(), follow_verbs(), exec_verbs(), tree_verbs(), hardware_verbs(),
          top_verbs(), identity_verbs(), access_verbs(), server_verbs(), local_verbs(), shell_verbs()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return kAll;
}

std::span<const std::string_view> verbs_not_built() {
  static constexpr std::string_view kLater[] = {"cost",  "secret", "volume", "notebook", "app",
                                                "serve", "flow",   "study",  "model",    "simulate"};
  return kLater;
}

std::string_view verb_of_habit(std::string_view word) {
  using Habit = std::pair<std::string_view, std::string_view>;
  static constexpr auto kHabits = std::to_array<Habit>({{"ls", "ps"},
                                                        {"list", "ps"},
                                                        {"jobs", "ps"},
                                                        {"squeue", "queue"},
                                                        {"status", "show"},
                                                        {"info", "show"},
                                                        {"describe", "show"},
                                                        {"explain", "why"},
                                                        {"kill", "stop"},
                                                        {"cancel", "stop"},
                                                        {"delete", "stop"},
                                                        {"rm", "stop"},
                                                        {"submit", "run"},
                                                        {"nodes", "node list"},
                                                        {"projects", "project list"},
                                                        {"users", "user list"},
                                                        {"tokens", "token list"},
                                                        {"nvidia-smi", "top"},
                                                        {"id", "whoami"}});
  for (const auto& [habit, verb] : kHabits) {
    if (habit == word) return verb;
  }
  return {};
}

std::vector<std::string_view> second_words(std::span<const Verb> verbs, std::string_view first) {
  std::vector<std::string_view> seconds;
  for (const Verb& verb : verbs) {
    std::string_view name = verb.name;
    bool begins = name.starts_with(first) && name.size() > first.size() && name[first.size()] == ' ';
    if (begins) seconds.push_back(name.substr(first.size() + 1));
  }
  return seconds;
}

}  // namespace moulin::cli
