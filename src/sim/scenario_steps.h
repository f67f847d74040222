// What can happen in a scenario: one function for each action.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario_world.h"

namespace moulin::scenario {

// The action of a step, e.g. "submit", with its value. Status is about the file: what the
// core refuses is in World::refusal.
struct Step {
  std::string action{};
  const Json* value = nullptr;  // borrowed from the document
  std::string path{};           // "steps[3].submit"
  std::string key{};            // idempotency key of a submit
};

// The words of all actions, for the reader of steps.
const std::vector<std::string_view>& action_words();

Status run_action(World& world, const Step& step);

// Top-level `nodes`, `tree`, `users`.
Status set_nodes(World& world, const Json& value, std::string_view path);
Status set_tree(World& world, const Json& value, std::string_view path);
Status set_users(World& world, const Json& value, std::string_view path);

}  // namespace moulin::scenario
