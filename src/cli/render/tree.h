// The quota tree and the queue as text: `quota`, `queue`, `project`, `department`.
#pragma once

#include <string>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin::cli {

std::string render_quota(const wire::QuotaList& quota, const View& view);
std::string render_queue(const wire::QueuePage& queue, const View& view);
std::string render_tree_nodes(const wire::TreeNodeList& nodes, const View& view);
std::string render_tree_node(const wire::TreeNode& node, const View& view);

}  // namespace moulin::cli
