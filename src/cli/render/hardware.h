// GPUs and nodes as text: `gpus`, `node`.
#pragma once

#include <string>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin::cli {

// What is free for me now.
std::string render_free_gpus(const wire::FreeGpus& gpus, const View& view);
// One line for each node, and one for each device that is not well or shared with others.
std::string render_nodes(const wire::NodePage& page, const View& view);
// One node with all its devices.
std::string render_node(const wire::Node& node, const View& view);

}  // namespace moulin::cli
