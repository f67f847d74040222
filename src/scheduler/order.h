// Which project is served next.
//
// The tree is walked from the root; at each level the child with the best standing is
// taken, so that departments are compared before the projects inside them. Of two
// children, the first difference decides:
//   1. holds no more than what it is entitled to
//   2. stays inside its guarantee with its next workload
//   3. higher rank
//   4. smaller saturation with its next workload
//   5. older
// Saturation is what it holds over what it is entitled to, the largest over the resources
// that its next workload asks for. Entitled is min(limit, max(guarantee, fair share)); the fair
// share is that of the moment at which the order was made.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/wide.h"
#include "scheduler/applicant.h"
#include "scheduler/fair_share/fair_shares.h"
#include "scheduler/home.h"
#include "scheduler/overlay.h"

namespace moulin {

// A share of something; `whole` 0 is larger than any share unless `part` is 0 too.
struct Ratio {
  int64_t part = 0;
  int64_t whole = 1;
  std::weak_ordering operator<=>(const Ratio& other) const {
    return Wide{part} * other.whole <=> Wide{other.part} * whole;
  }
  bool operator==(const Ratio& other) const { return (*this <=> other) == 0; }
};

// How a tree node stands among its siblings. The smallest is served first.
struct Standing {
  bool above_entitled = false;
  bool beyond_guarantee = false;
  int64_t lowness = 0;  // less its rank
  Ratio saturation{};
  int64_t order = 0;  // of creation: no two have the same
  auto operator<=>(const Standing&) const = default;
};

// path[level] with `next` added to what it holds.
Standing standing(const FairShares& fair, const Overlay& overlay, const TreePath& path, size_t level,
                  const std::vector<Holding>& next);

// The waiting workloads of one project that may start now, in the order of queue.h. It
// remembers a place in the queue, not the queue, which may change meanwhile: who joins it
// before that place is left to the next cursor.
class QueueCursor {
 public:
  explicit QueueCursor(const TreeName& project) : project_(project) {}

  // nullptr: there are no more.
  const WaitKey* head() const { return run_.empty() ? nullptr : &run_.back(); }
  // Goes on to the next one; `queues` are those of the view, or of some of its workloads.
  void pop(const View& view, const WaitQueues& queues);
  // Drops heads that wait no more. Also for the first head.
  void catch_up(const View& view, const WaitQueues& queues);

 private:
  void fill(const View& view, const WaitQueues& queues);
  TreeName project_;
  std::optional<WaitKey> taken_;  // from the queue, up to here
  std::vector<WaitKey> run_;      // workloads whose order the keys alone do not tell; last first
};

// Gives the waiting workloads of all projects one after the other. What an overlay holds
// decides, so refresh() must be told of each change of it. Lives from one overlay to the
// next: see go_on().
//
// Cost: making one looks at each project that waits once; next() at the branch from the root to
// one project, and at less while workloads that ask for the same follow each other.
class ServingOrder {
 public:
  // The overlay must outlive it, or be followed by another. Nobody is served before all
  // projects were added: see add_projects(); at first so many are.
  explicit ServingOrder(Overlay& overlay, int64_t projects_first = INT64_MAX);
  // Of these workloads alone, which must outlive it; the order among projects is any.
  ServingOrder(Overlay& overlay, const WaitQueues& only) : overlay_(&overlay), only_(&only) {}
  ServingOrder(const ServingOrder&) = delete;
  ServingOrder& operator=(const ServingOrder&) = delete;

  // From here on another overlay counts, of a later state with the same tree and hardware,
  // in which only these projects hold or queue something else.
  void go_on(Overlay& overlay, const std::set<TreeName>& changed);

  // Adds so many more projects that wait; true when all are there.
  bool add_projects(int64_t most);

  // Takes the next one; absent when there are no more.
  std::optional<WorkloadId> next();

  // What this project holds has changed.
  void refresh(const TreeName& project);

 private:
  struct Branch {
    TreeName name{};
    Branch* parent = nullptr;
    std::optional<QueueCursor> queue{};      // of a project
    std::map<Standing, Branch*> children{};  // those with something to serve
    std::optional<Standing> standing{};      // under which the parent lists it
    std::vector<Holding> next{};             // what its head asks for; part of the standing
  };
  enum class Why { kHolds, kHead };
  const WaitQueues& queues() const { return only_ != nullptr ? *only_ : overlay_->index().waiting(); }
  Branch& branch_of(const TreePath& path, size_t level);
  const WaitKey* head_of(const Branch& branch) const;
  void add(const TreeName& project);
  void enlist(Branch& branch, const TreePath& path, size_t level, std::vector<Holding> next);
  void climb(const TreeName& project, Why why);

  Overlay* overlay_;
  const WaitQueues* only_ = nullptr;
  FairShares fair_{};
  std::map<TreeName, std::unique_ptr<Branch>> branches_;
  Branch* root_ = nullptr;
  TreeName added_{};  // up to here
};

}  // namespace moulin
