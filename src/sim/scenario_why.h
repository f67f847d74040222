// Expectations about explanations: reasons, and changes that are tried out.
#pragma once

#include "model/reason.h"
#include "sim/scenario_world.h"

namespace moulin::scenario {

// [code, code] for exactly these reasons in this order, or
// {reasons: [code or {code:, text:, numbers: {free_milli: 500}, names: {project: nlp}}],
//  has: [...]                      these among others
//  changes: [{dimension: share, from: 0.5, to: 0.25, at: nlp}],   these among others
//  only_changes: [...]}            exactly these
// Amounts of changes are written as users write them: devices, cores, 16GiB, counts, words.
Status check_explanation(const Explanation& explanation, const Json& value, std::string_view path);

// Makes each change in a copy and sees whether the workload then starts, or evicts those
// whose place it needs, as the change promises.
Status try_changes(const World& world, WorkloadId workload, const Explanation& explanation, std::string_view path);

}  // namespace moulin::scenario
