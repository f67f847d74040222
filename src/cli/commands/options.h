// Options that several verbs have.
#pragma once

#include "cli/verb.h"

namespace moulin::cli {

inline constexpr OptionSpec kProjectOption{
    .name = "project", .letter = 'p', .value = "PROJECT", .help = "when several projects have a workload of that name"};
inline constexpr OptionSpec kNamedWorkloadOptions[] = {kProjectOption};

}  // namespace moulin::cli
