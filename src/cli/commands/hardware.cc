// gpus, node.
#include "cli/render/hardware.h"
#include "cli/commands/groups.h"
#include "cli/commands/pages.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Hardware";

Result<int> gpus(Session& session) {
  wire::ListGpus wanted;
  std::string project = session.surroundings().variable("MOULIN_PROJECT");
  if (const std::string* named = session.call().value("project")) project = *named;
  if (!project.empty()) wanted.project = project;
  return session.show(TRY(session.ask(wanted)), render_free_gpus);
}

Result<int> node_list(Session& session) {
  wire::ListNodes wanted;
  if (const std::string* pool = session.call().value("pool")) wanted.pool = *pool;
  return session.show(TRY(all_pages(session, wanted)), render_nodes);
}

template <class Operation>
Result<int> on_node(Session& session) {
  return session.show(TRY(session.ask(Operation{.node = session.call().words.front()})), render_node);
}

Result<int> forget_faults(Session& session) {
  const std::vector<std::string>& words = session.call().words;
  TRY(session.ask(wire::ForgetGpuFaults{.node = words[0], .gpu = words[1]}));
  session.console().note("Forgotten; the next look at the device decides.");
  return 0;
}

constexpr OptionSpec kGpusOptions[] = {{.name = "project",
                                        .letter = 'p',
                                        .value = "PROJECT",
                                        .help = "within the quota of this project (unless given: default)"}};
constexpr OptionSpec kNodeOptions[] = {{.name = "pool", .value = "POOL", .help = "only of this pool"}, kLimitOption};

struct NodeVerb {
  std::string_view name;
  std::string_view summary;
  std::string_view example;
};

constexpr Verb node_verb(const NodeVerb& verb, Result<int> (*run)(Session&)) {
  return {.name = verb.name,
          .group = kGroup,
          .arguments = "NODE",
          .words_min = 1,
          .words_max = 1,
          .summary = verb.summary,
          .examples = verb.example,
          .run = run};
}

constexpr Verb kVerbs[] = {
    {.name = "gpus",
     .group = kGroup,
     .summary = "what is free for me now",
     .options = kGpusOptions,
     .examples = "moulin gpus\nmoulin gpus --project nlp",
     .run = gpus},
    {.name = "node list",
     .group = kGroup,
     .summary = "nodes and what is free on them",
     .options = kNodeOptions,
     .examples = "moulin node list\nmoulin node list --pool old",
     .run = node_list},
    node_verb({"node show", "one node with its devices", "moulin node show gpu-7"}, on_node<wire::ShowNode>),
    node_verb({"node cordon", "start nothing new there", "moulin node cordon gpu-7"}, on_node<wire::CordonNode>),
    node_verb({"node drain", "and let what runs there move away", "moulin node drain gpu-7"}, on_node<wire::DrainNode>),
    node_verb({"node uncordon", "let it take work again", "moulin node uncordon gpu-7"}, on_node<wire::UncordonNode>),
    {.name = "node forget-faults",
     .group = kGroup,
     .arguments = "NODE GPU-UUID",
     .words_min = 2,
     .words_max = 2,
     .summary = "judge a repaired or reset device anew",
     .examples = "moulin node forget-faults gpu-7 GPU-5a3f19d2-0c1b-4e0e-9a55-2f0d3f1c7a10",
     .run = forget_faults},
};

}  // namespace

std::span<const Verb> hardware_verbs() { return kVerbs; }

}  // namespace moulin::cli
