// The smallest change in each dimension that would start an applicant now.
//
//   share       fewer whole devices; for one device, or for parts, a smaller share
//   gpu_memory  less, in whole MiB, where memory was asked for
//   cpu, memory less; 0 reserves nothing
//   model       the first other model, by name, on which it would start
//   class       the nearest class with which it would start, or evict and then start
//   replicas    a smaller minimum
//   quota       one limit or guarantee, at one tree node, raised
//
// Each is found by trying it in the overlay with the code that places replicas, so that it
// is never false; where more of a dimension never helps, by halving, so that it is the
// smallest. The brute force in changes_test.cc proves both on small clusters.
#pragma once

#include "scheduler/explain/inquiry.h"

namespace moulin {

// In order of Dimension. Empty when it would start as it is.
std::vector<Change> find_changes(const Inquiry& inquiry);

}  // namespace moulin
