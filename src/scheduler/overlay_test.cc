#include "scheduler/overlay.h"

#include <doctest/doctest.h>

#include "base/rng.h"
#include "scheduler/placement/place.h"
#include "scheduler/testing.h"

namespace moulin {
namespace {

TEST_CASE("rollback restores exactly what was there") {
  testing::Cluster cluster;
  for (int i = 0; i < 5; ++i) cluster.node({.name = fmt::format("n{}", i), .gpus = 4});
  Rng rng(7);
  TreePath path = path_to_root(cluster.state(), kDefaultProject);
  std::vector<WorkloadSpec> specs;
  for (int64_t share : {10, 250, 333, 500}) specs.push_back(testing::job({.devices = 1, .share = {share}}));
  for (int64_t devices : {1, 2, 4}) specs.push_back(testing::job({.devices = devices, .cpu = {1500}}));
  Overlay overlay(cluster.view());
  std::vector<std::pair<Overlay::Mark, Room>> marks;
  for (int step = 0; step < 500; ++step) {
    if (rng.chance(200) && !marks.empty()) {
      auto keep = static_cast<size_t>(rng.below(std::ssize(marks)));
      overlay.rollback(marks[keep].first);
      REQUIRE(overlay.room() == marks[keep].second);
      marks.resize(keep);
    }
    marks.emplace_back(overlay.checkpoint(), overlay.room());
    const WorkloadSpec& spec = specs[static_cast<size_t>(rng.below(std::ssize(specs)))];
    Applicant applicant{spec, path};
    place_gang(overlay, applicant, Hold::kHeld, {.first = 0, .count = rng.between(1, 3)});
  }
  CHECK(cluster.index().equals(Index::build(cluster.state())));
}

}  // namespace
}  // namespace moulin
