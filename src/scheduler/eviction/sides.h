// The two sides of an eviction between projects: the children of their lowest common
// ancestor, under which they stand.
#pragma once

#include "scheduler/room.h"

namespace moulin {

// Levels in the two paths. Requires two different projects of one tree.
struct Sides {
  size_t ours = 0;
  size_t theirs = 0;
};
Sides sides_of(const TreePath& ours, const TreePath& theirs);

}  // namespace moulin
