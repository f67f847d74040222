#include "sim/random_actions.h"

#include <array>

namespace moulin {

namespace {

const UserName kMax{"max"};
const UserName kMia{"mia"};
constexpr int64_t kUnfinishedMax = 40;
constexpr size_t kRepeatsMax = 20;

Node make_node(std::string_view name, std::string_view model, Bytes memory, std::string_view pool) {
  Node node{.name = NodeName(name),
            .pool = PoolName(pool),
            .cpu = {16'000},
            .memory = gibibytes(128),
            .gpus = {},
            .labels = {}};
  for (int32_t i = 0; i < 4; ++i) {
    node.gpus.push_back({.uuid = GpuUuid(std::string(name) + "-" + std::to_string(i)),
                         .index = i,
                         .model = ModelName(model),
                         .memory = memory,
                         .reserve = gibibytes(1)});
  }
  if (pool != "default") node.gpus[0].isolation = Isolation::kMps;
  return node;
}

void give(RandomCluster& cluster, CommandBody body) { (void)cluster.simulation.give({}, std::move(body)); }

// ---- Users ----

void submit(RandomCluster& cluster) {
  Simulation& simulation = cluster.simulation;
  if (std::ssize(simulation.state().names) >= kUnfinishedMax) return;
  command::Submit request;
  int64_t count = cluster.rng.chance(100) ? cluster.rng.between(2, 5) : 1;
  for (int64_t i = 0; i < count; ++i)
    request.workloads.push_back({.id = simulation.new_workload_id(), .spec = random_spec(cluster), .origin = {}});
  if (cluster.rng.chance(150)) {
    request.key = request.workloads.front().spec.name;
    request.digest = request.key;
    if (cluster.repeats.size() < kRepeatsMax) cluster.repeats.push_back(request);
  }
  (void)simulation.give(cluster.rng.chance(500) ? kMax : kMia, request);
}

// The shell makes new ids for a request that comes again.
void submit_again(RandomCluster& cluster) {
  if (cluster.repeats.empty()) return;
  command::Submit request = cluster.one_of(cluster.repeats);
  for (command::NewWorkload& item : request.workloads) item.id = cluster.simulation.new_workload_id();
  if (cluster.rng.chance(200)) request.digest += "changed";
  (void)cluster.simulation.give(cluster.rng.chance(800) ? kMax : kMia, request);
  if (cluster.rng.chance(100)) cluster.repeats.clear();
}

void stop(RandomCluster& cluster) {
  if (WorkloadId id = cluster.any_workload()) give(cluster, command::Stop{id});
}
void pause(RandomCluster& cluster) {
  if (WorkloadId id = cluster.any_workload()) give(cluster, command::Pause{id});
}
void resume(RandomCluster& cluster) {
  std::vector<WorkloadId> paused;
  for (const auto& [id, workload] : cluster.simulation.state().workloads) {
    if (workload->state == WorkloadState::kPaused) paused.push_back(id);
  }
  WorkloadId id = paused.empty() ? cluster.any_workload() : cluster.one_of(paused);
  if (id) give(cluster, command::Resume{id});
}

// ---- The engine ----

// A replica that holds something, with its token; nothing when there is none.
struct Live {
  ReplicaKey key{};
  std::string token{};
};
std::optional<Live> any_live(RandomCluster& cluster) {
  std::vector<Live> all;
  for (const auto& [id, workload] : cluster.simulation.state().workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr) continue;
    for (const Replica& replica : attempt->replicas)
      if (replica.state != ReplicaState::kExited) all.push_back({{id, attempt->number, replica.index}, attempt->token});
  }
  if (all.empty()) return std::nullopt;
  return cluster.one_of(all);
}

void report(RandomCluster& cluster, EngineReport report) {
  cluster.simulation.engine().report(cluster.simulation.now(), std::move(report));
}

Exit random_exit(Rng& rng) {
  Exit exit;
  if (rng.chance(700))
    exit.code = rng.chance(700) ? 0 : 1;
  else if (rng.chance(400))
    exit.signal = 9;
  else if (rng.chance(500))
    exit.vanished = true;
  else
    exit.error = "no such program";
  exit.done_file = rng.chance(150);
  exit.limit_hit = rng.chance(50);
  return exit;
}

void finish(RandomCluster& cluster) {
  std::optional<Live> live = any_live(cluster);
  if (!live) return;
  Usage usage{.cpu = seconds(cluster.rng.below(100)), .memory_peak = mebibytes(1), .gpu_active = seconds(1)};
  report(cluster,
         ReplicaExited{.key = live->key, .token = live->token, .exit = random_exit(cluster.rng), .usage = usage});
}

void checkpoint(RandomCluster& cluster) {
  if (std::optional<Live> live = any_live(cluster))
    report(cluster, CheckpointSeen{.key = live->key, .token = live->token});
}

void measure(RandomCluster& cluster) {
  std::optional<Live> live = any_live(cluster);
  if (live) report(cluster, UsageMeasured{.key = live->key, .token = live->token, .usage = {.cpu = seconds(5)}});
}

// Something that an engine could say by mistake, or of a former life.
void talk_nonsense(RandomCluster& cluster) {
  Rng& rng = cluster.rng;
  ReplicaKey key{.workload = cluster.any_workload(),
                 .attempt = {static_cast<int32_t>(rng.below(4))},
                 .replica = {static_cast<int32_t>(rng.between(-1, 4))}};
  const Workload* workload = cluster.simulation.state().workload(key.workload);
  std::string token = "forged";
  if (workload != nullptr && !workload->attempts.empty() && rng.chance(500)) token = workload->attempts.back().token;
  const std::vector<EngineReport> reports{
      ReplicaStarted{.key = key, .token = token}, CheckpointSeen{.key = key, .token = token},
      UsageMeasured{.key = key, .token = token, .usage = {}},
      ReplicaExited{.key = key, .token = token, .exit = random_exit(rng), .usage = {}},
      StrangerFound{.key = key, .token = token, .pid = 7}};
  report(cluster, cluster.one_of(reports));
}

void behave(RandomCluster& cluster) {
  Rng& rng = cluster.rng;
  EngineRule rule{.starts_after = seconds(rng.below(5)), .ends = rng.chance(900), .ends_after = seconds(rng.below(40))};
  rule.checkpoints = rng.chance(400);
  rule.exit = random_exit(rng);
  cluster.simulation.engine().set_rule(rule);
}

// ---- Hardware ----

void change_mode(RandomCluster& cluster) {
  const std::array modes{NodeMode::kOpen, NodeMode::kOpen, NodeMode::kCordoned, NodeMode::kDraining};
  give(cluster, command::ChangeNodeMode{cluster.any_node(), modes[static_cast<size_t>(cluster.rng.below(4))]});
}

void lose_node(RandomCluster& cluster) {
  NodeName name = cluster.any_node();
  cluster.simulation.engine().silence(name);
  give(cluster, command::ReportPresence{name, Presence::kDown});
}

void find_node(RandomCluster& cluster) {
  NodeName name = cluster.any_node();
  cluster.simulation.engine().unsilence(name);
  give(cluster, command::ReportPresence{name, Presence::kUp});
}

// Fenced: it is certain that nothing runs there any more.
void fence_node(RandomCluster& cluster) {
  NodeName name = cluster.any_node();
  cluster.simulation.engine().unsilence(name);
  std::vector<EngineReport> reports;
  for (const auto& [id, workload] : cluster.simulation.state().workloads) {
    const Attempt* attempt = workload->live();
    if (attempt == nullptr) continue;
    for (const Replica& replica : attempt->replicas) {
      if (replica.placement.node != name) continue;
      Exit exit{.error = "the node was lost"};
      exit.vanished = true;
      reports.push_back(ReplicaExited{
          .key = {id, attempt->number, replica.index}, .token = attempt->token, .exit = exit, .usage = {}});
    }
  }
  for (EngineReport& item : reports) report(cluster, std::move(item));
}

void change_gpu(RandomCluster& cluster) {
  Rng& rng = cluster.rng;
  const Node* node = cluster.simulation.state().node(cluster.any_node());
  if (node == nullptr) return;
  Gpu gpu = node->gpus[static_cast<size_t>(rng.below(std::ssize(node->gpus)))];
  gpu.health = rng.chance(600) ? Health::kHealthy : static_cast<Health>(rng.below(3));
  gpu.health_reason = gpu.health == Health::kHealthy ? "" : "XID 79";
  gpu.foreign_processes = rng.chance(200) ? 1 : 0;
  gpu.foreign_memory = gpu.foreign_processes > 0 ? gibibytes(rng.between(0, 30)) : Bytes{};
  give(cluster, command::ReportGpu{node->name, gpu});
}

void register_node(RandomCluster& cluster) {
  Node node = cluster.one_of(cluster.nodes);
  node.labels["rack"] = "r" + std::to_string(cluster.rng.below(3));
  if (cluster.rng.chance(200)) node.pool = PoolName(cluster.rng.chance(500) ? "default" : "second");
  if (cluster.rng.chance(50)) node.gpus.pop_back();
  give(cluster, command::RegisterNode{node});
}

void remove_node(RandomCluster& cluster) { give(cluster, command::RemoveNode{cluster.any_node()}); }

// ---- Quotas and people ----

Quota random_quota(Rng& rng) {
  Quota quota{.guaranteed = rng.below(7) * 1000, .weight = rng.below(4), .rank = rng.between(-1, 1)};
  if (rng.chance(500)) quota.limit = quota.guaranteed + rng.below(8) * 1000;
  quota.rest = rng.chance(100);
  return quota;
}

void change_quota(RandomCluster& cluster) {
  Rng& rng = cluster.rng;
  std::vector<TreeName> names;
  for (const auto& [name, node] : cluster.simulation.state().tree) names.push_back(name);
  QuotaKey key{.pool = PoolName(rng.chance(700) ? "default" : "second"),
               .resource = rng.chance(800) ? Resource::kGpu : Resource::kCpu,
               .model = {}};
  if (key.resource == Resource::kGpu && rng.chance(200)) key.model = ModelName("H100-80GB");
  std::optional<Quota> quota;
  if (rng.chance(800)) quota = random_quota(rng);
  if (quota && key.resource == Resource::kCpu && quota->limit) quota->limit = *quota->limit * 2;
  give(cluster, command::ChangeQuota{.at = cluster.one_of(names), .key = key, .quota = quota});
}

void change_tree(RandomCluster& cluster) {
  TreeName name("extra" + std::to_string(cluster.rng.below(3)));
  if (cluster.simulation.state().tree.contains(name)) return give(cluster, command::RemoveTreeNode{name});
  give(cluster, command::CreateTreeNode{
                    .name = name, .parent = TreeName("science"), .quotas = {{QuotaKey{}, random_quota(cluster.rng)}}});
}

void change_people(RandomCluster& cluster) {
  Rng& rng = cluster.rng;
  const State& state = cluster.simulation.state();
  UserName guest("guest");
  Binding binding{.user = guest, .at = TreeName("science"), .role = static_cast<Role>(rng.below(3))};
  if (!state.users.contains(guest)) return give(cluster, command::CreateUser{.name = guest, .account = "guest"});
  switch (rng.below(5)) {
    case 0: return give(cluster, command::GrantRole{binding});
    case 1: return give(cluster, command::RevokeRole{binding});
    case 2: {
      Token token{
          .id = cluster.simulation.new_token_id(), .user = guest, .hash = std::string(32, 'h'), .label = "laptop"};
      token.issued = cluster.simulation.now();
      return give(cluster, command::IssueToken{token});
    }
    case 3:
      if (!state.tokens.empty()) give(cluster, command::RevokeToken{state.tokens.begin()->first});
      return;
  }
  give(cluster, command::RemoveUser{guest});
}

// ---- Time and the server ----

void wait_a_little(RandomCluster& cluster) { cluster.simulation.advance(Duration{cluster.rng.below(seconds(30).us)}); }
void wait_long(RandomCluster& cluster) { cluster.simulation.advance(minutes(cluster.rng.between(1, 90))); }
void wait_a_day(RandomCluster& cluster) { cluster.simulation.advance(hours(26)); }
void move_clock(RandomCluster& cluster) { give(cluster, command::MoveWallClock{seconds(cluster.rng.below(100))}); }
void restart(RandomCluster& cluster) { cluster.simulation.restart(); }

struct Action {
  std::string_view name;
  int64_t weight;
  void (*run)(RandomCluster&);
};
constexpr std::array kActions = std::to_array<Action>({
    {"submit", 220, submit},
    {"submit_again", 10, submit_again},
    {"stop", 25, stop},
    {"pause", 25, pause},
    {"resume", 30, resume},
    {"finish", 150, finish},
    {"checkpoint", 30, checkpoint},
    {"measure", 20, measure},
    {"nonsense", 25, talk_nonsense},
    {"behave", 10, behave},
    {"change_mode", 20, change_mode},
    {"lose_node", 8, lose_node},
    {"find_node", 20, find_node},
    {"fence_node", 8, fence_node},
    {"change_gpu", 25, change_gpu},
    {"register_node", 10, register_node},
    {"remove_node", 6, remove_node},
    {"change_quota", 20, change_quota},
    {"change_tree", 8, change_tree},
    {"change_people", 15, change_people},
    {"wait", 260, wait_a_little},
    {"wait_long", 20, wait_long},
    {"wait_a_day", 1, wait_a_day},
    {"move_clock", 4, move_clock},
    {"restart", 4, restart},
});

}  // namespace

RandomCluster::RandomCluster(const Simulation::Settings& settings)
    : simulation(settings), rng(settings.seed * 7919 + 1) {
  nodes = {make_node("alpha", "H100-80GB", gibibytes(80), "default"),
           make_node("beta", "A100-40GB", gibibytes(40), "default"),
           make_node("gamma", "H100-80GB", gibibytes(80), "second")};
  for (const Node& node : nodes) give(*this, command::RegisterNode{node});
  for (std::string_view name : {"science", "products"})
    give(*this, command::CreateTreeNode{.name = TreeName(name),
                                        .kind = TreeKind::kDepartment,
                                        .parent = kRootTree,
                                        .quotas = {{QuotaKey{}, {.guaranteed = 4000, .limit = 9000}}}});
  for (auto [name, parent] : {std::pair{"nlp", "science"}, {"vision", "science"}, {"search", "products"}})
    give(*this, command::CreateTreeNode{.name = TreeName(name),
                                        .parent = TreeName(parent),
                                        .quotas = {{QuotaKey{}, {.guaranteed = 2000, .limit = 6000}}}});
  for (const UserName& user : {kMax, kMia}) {
    give(*this, command::CreateUser{.name = user, .account = {}});
    give(*this, command::GrantRole{Binding{.user = user, .at = kRootTree, .role = Role::kAdmin}});
  }
  simulation.settle();
}

WorkloadId RandomCluster::any_workload() {
  std::vector<WorkloadId> unfinished;
  std::vector<WorkloadId> all;
  for (const auto& [id, workload] : simulation.state().workloads) {
    all.push_back(id);
    if (!is_finished(workload->state)) unfinished.push_back(id);
  }
  if (all.empty()) return {};
  return unfinished.empty() || rng.chance(100) ? one_of(all) : one_of(unfinished);
}

std::string_view act(RandomCluster& cluster) {
  int64_t total = 0;
  for (const Action& action : kActions) total += action.weight;
  int64_t at = cluster.rng.below(total);
  for (const Action& action : kActions) {
    at -= action.weight;
    if (at >= 0) continue;
    action.run(cluster);
    return action.name;
  }
  MOULIN_UNREACHABLE();
}

}  // namespace moulin
