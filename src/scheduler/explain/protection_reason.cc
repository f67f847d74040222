// Who could make room, but for a protection.
#include <fmt/format.h>

#include <functional>

#include "scheduler/eviction/search.h"
#include "scheduler/explain/inquiry.h"
#include "scheduler/explain/words.h"
#include "scheduler/placement/count.h"

namespace moulin {

namespace {

// The live workloads that the applicant outranks, by the protection of each.
class Outranked {
 public:
  Outranked(const Inquiry& inquiry, const ReclaimRights& rights) : inquiry_(inquiry), rights_(rights) {
    for (const auto& [project, live] : inquiry.overlay.index().live()) {
      for (const auto& [hold, member] : *live) look_at(*inquiry.overlay.state().workload(hold.id));
    }
  }

  bool any_protected() const { return guarantee_.count + min_runtime_.count > 0; }

  // Whether there would be room without them all: a bound, node by node.
  bool would_make_room() const {
    const Room& room = inquiry_.overlay.room();
    int64_t fitting = replicas_that_fit(room, inquiry_.spec(), inquiry_.replicas());
    for (const auto& [name, replicas] : by_node_) {
      if (fitting >= inquiry_.replicas()) return true;
      const NodeRoom& node = *room.node(name);
      NodeRoom emptied = node;
      for (const Replica* replica : replicas) give_back(emptied, replica->placement);
      fitting += replicas_on(emptied, inquiry_.spec().resources) - replicas_on(node, inquiry_.spec().resources);
    }
    return fitting >= inquiry_.replicas();
  }

  void add_reasons(Reasons& reasons) {
    if (guarantee_.count > 0) {
      const Workload& example = *guarantee_.example;
      const TreeName& guard = guarantee_.guarded_by;
      auto line = inquiry_.stock.lines().of(guard).position(example.id, {});
      bool by_project = guard == example.spec.project;
      std::string text = fmt::format(
          "{} could make room, but stand{} inside the guarantee of {} {}: {} of project {}, {} has {} guaranteed {}",
          count_words(guarantee_.count, "workload"), guarantee_.count == 1 ? "s" : "",
          guarantee_.count == 1 ? "its" : "their", by_project ? "project" : "department", workload_words(example),
          example.spec.project.text, by_project ? "which" : guard.text,
          amount_words(line.key.resource, line.guaranteed), key_words(line.key));
      reasons.push_back(reason("guarantee", guarantee_, std::move(text)));
    }
    if (min_runtime_.count > 0) {
      const Workload& example = *min_runtime_.example;
      std::string text = fmt::format(
          "{} could make room, but {} not yet run for {} min_runtime: {} asked for {}",
          count_words(min_runtime_.count, "workload"), min_runtime_.count == 1 ? "has" : "have",
          min_runtime_.count == 1 ? "its" : "their", workload_words(example), to_text(example.spec.min_runtime));
      reasons.push_back(reason("min_runtime", min_runtime_, std::move(text)));
    }
  }

 private:
  struct Group {
    int64_t count = 0;
    const Workload* example = nullptr;
    TreeName guarded_by{};
    void add(const Workload& workload, const TreeName& guard) {
      if (count++ > 0) return;
      example = &workload;
      guarded_by = guard;
    }
  };

  void look_at(const Workload& workload) {
    if (workload.state == WorkloadState::kStopping || workload.id == inquiry_.applicant.id) return;
    auto here = [&](const Replica& replica) { return stays(workload, replica, inquiry_.stock.departures()); };
    if (std::ranges::none_of(workload.attempts.back().replicas, here)) return;
    GuaranteeLines& lines = inquiry_.stock.lines();
    IsAbove is_above = [&](const Workload& victim, const TreeName& at) { return lines.is_above(at, victim, {}); };
    Judgement judgement =
        judge_eviction(inquiry_.applicant, rights_, {workload, lines, is_above}, inquiry_.overlay.now());
    switch (judgement.protection) {
      case Protection::kProduction:
      case Protection::kRank: return;
      case Protection::kGuarantee: guarantee_.add(workload, judgement.guarded_by); break;
      case Protection::kMinRuntime: min_runtime_.add(workload, {}); break;
      case Protection::kNone: break;
    }
    for (const Replica& replica : workload.attempts.back().replicas) {
      const NodeRoom* node = inquiry_.overlay.room().node(replica.placement.node);
      bool useful = node != nullptr && node->open && may_use_pool(inquiry_.spec(), node->pool);
      if (useful && here(replica)) by_node_[replica.placement.node].push_back(&replica);
    }
  }

  Reason reason(const char* protection, const Group& group, std::string text) const {
    return {.code = ReasonCode::kProtected,
            .text = std::move(text),
            .numbers = {{"workloads", group.count}},
            .names = {{"protection", protection},
                      {"workload", to_text(group.example->id)},
                      {"project", group.example->spec.project.text}}};
  }

  const Inquiry& inquiry_;
  const ReclaimRights rights_;
  std::map<NodeName, std::vector<const Replica*>> by_node_;
  Group guarantee_;
  Group min_runtime_;
};

// Somebody below it may be evicted, but a search found no start within the bound.
Reason too_disruptive(const Inquiry& inquiry) {
  return {.code = ReasonCode::kProtected,
          .text = fmt::format("workloads of lower classes could make room, but more than {} times of what this asks "
                              "for would have to end",
                              kDisruptionMost),
          .numbers = {{"times", kDisruptionMost}},
          .names = {{"protection", "disruption"}, {"project", inquiry.spec().project.text}}};
}

}  // namespace

void explain_protection(const Inquiry& inquiry, Reasons& reasons) {
  if (inquiry.too_disruptive) reasons.push_back(too_disruptive(inquiry));
  ReclaimRights rights(inquiry.overlay, inquiry.applicant);
  if (!may_evict_anybody(inquiry.overlay.index(), inquiry.applicant, rights, inquiry.stock.lines())) return;
  Outranked outranked(inquiry, rights);
  if (outranked.any_protected() && outranked.would_make_room()) outranked.add_reasons(reasons);
}

}  // namespace moulin
