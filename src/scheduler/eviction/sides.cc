#include "scheduler/eviction/sides.h"

namespace moulin {

Sides sides_of(const TreePath& ours, const TreePath& theirs) {
  size_t common = 0;  // so many of the last are the same
  while (common < ours.size() && common < theirs.size() &&
         ours[ours.size() - 1 - common] == theirs[theirs.size() - 1 - common])
    ++common;
  MOULIN_CHECK(common > 0 && common < ours.size() && common < theirs.size(), "two projects of one tree");
  return {ours.size() - 1 - common, theirs.size() - 1 - common};
}

}  // namespace moulin
