#include "model/state.h"

namespace moulin {

std::vector<const TreeNode*> path_to_root(const State& state, const TreeName& name) {
  std::vector<const TreeNode*> path;
  for (const TreeNode* node = state.tree_node(name); node != nullptr; node = state.tree_node(node->parent)) {
    path.push_back(node);
    MOULIN_CHECK(path.size() <= static_cast<size_t>(kTreeDepthMax), "a cycle in the quota tree");
  }
  return path;
}

}  // namespace moulin
