// What a scenario expects to be true.
#pragma once

#include "sim/scenario_world.h"

namespace moulin::scenario {

// kConflict: the expectation is not met; message, `allowed` (expected) and `given` (got)
// say how. Any other code: the file is wrong.
Status check_expectations(World& world, const Json& value, std::string_view path);

// "refused: text" or {code: refused, text: fragment, field: resources.gpu}
Status check_refusal(const World& world, const Json* wanted, std::string_view path);

// The expectation about `what` is not met.
Error unmet(std::string_view path, std::string what, std::string expected, std::string got);

}  // namespace moulin::scenario
