// The fair share F of every project and department: what each would get if all that is
// wanted now were divided by the rules, level by level from the root.
//
// Demand of a tree node is what runs below it and what could start there, at most its
// limit. A waiting workload counts in its home pool (home.h); one in back-off does not. F is
// never a cap: what is idle goes to anybody. It decides who is served first.
#pragma once

#include <vector>

#include "scheduler/scheduler.h"

namespace moulin {

class FairShares {
 public:
  // Of the state as `room` has it. Cost: about the tree nodes, for each key that somebody asks for.
  static FairShares of(const State& state, const Index& index, const Room& room);

  // 0 when nothing is wanted there, or nobody waits for anything of that key.
  int64_t share(const TreeNode& at, const QuotaKey& key) const;

 private:
  struct OfKey {
    QuotaKey key{};
    std::vector<int64_t> shares{};  // by TreeNode::order
  };
  std::vector<OfKey> keys_;  // a handful
};

}  // namespace moulin
