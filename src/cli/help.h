// Help texts, made from the table of verbs.
#pragma once

#include <span>
#include <string>

#include "cli/verb.h"
#include "cli/view.h"

namespace moulin {

std::string overall_help(std::span<const Verb> verbs, const View& view);
std::string verb_help(const Verb& verb);

}  // namespace moulin
