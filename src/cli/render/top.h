// `top` as text: what the devices do now, and who holds them.
#pragma once

#include <string>
#include <vector>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin::cli {

struct TopPicture {
  std::vector<wire::Node> nodes{};
  std::vector<wire::WorkloadSummary> workloads{};  // that hold something now
};

// Not more lines than the view is high; what was left out is counted. Devices one by one
// while they are few, else by node.
std::string render_top(const TopPicture& picture, const View& view);

}  // namespace moulin::cli
