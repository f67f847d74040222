// Help texts, made from the table of verbs. No line is wider than the view, or than 80
// columns without a terminal.
#pragma once

#include <span>
#include <string>

#include "cli/verb.h"
#include "cli/view.h"

namespace moulin::cli {

std::string overall_help(std::span<const Verb> verbs, const View& view);
// Of all verbs that begin with `topic`, such as "project": a line and an example for each.
std::string topic_help(std::span<const Verb> verbs, std::string_view topic, const View& view);
std::string verb_help(const Verb& verb, const View& view);

}  // namespace moulin::cli
