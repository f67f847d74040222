#include <fmt/format.h>

#include "scheduler/admission.h"
#include "scheduler/explain/words.h"
#include "scheduler/tree_bounds.h"

namespace moulin {

namespace {

std::string field_of(Resource resource) {
  switch (resource) {
    case Resource::kGpu: return "resources.gpu";
    case Resource::kCpu: return "resources.cpu";
    case Resource::kMemory: return "resources.memory";
  }
  MOULIN_UNREACHABLE();
}

Error above_limit(const TreeNode& node, const Bound& bound, int64_t replicas) {
  Resource resource = bound.key.resource;
  return {.code = Code::kRefused,
          .message = fmt::format("alone above the limit of {} {}", to_text(node.kind), node.name.text),
          .field = field_of(resource),
          .given = fmt::format("{} in all", amount_words(resource, bound.each * replicas)),
          .allowed = fmt::format("at most {} {}", amount_words(resource, bound.amount), key_words(bound.key)),
          .to_do = fmt::format("ask for less, or have the limit of {} raised", node.name.text)};
}

}  // namespace

std::optional<Error> limit_exceeded(const View& view, const WorkloadSpec& spec) {
  TreePath path = path_to_root(view.state, spec.project);
  Applicant applicant{spec, path};
  const Room nothing;
  for (size_t level = 0; level < path.size(); ++level) {
    std::vector<Bound> bounds = blocking_bounds(view, nothing, applicant, level, BoundKind::kLimit);
    if (!bounds.empty()) return above_limit(*path[level], bounds.front(), spec.replicas.min);
  }
  return std::nullopt;
}

}  // namespace moulin
