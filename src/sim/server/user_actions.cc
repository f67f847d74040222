// What users ask.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "sim/server/users.h"
#include "sim/server/watcher_parts.h"

namespace moulin::sim {

namespace {

constexpr int64_t kUnfinishedMax = 24;
constexpr size_t kKeyedMax = 40;

template <class T>
const T& one_of(Rng& rng, const std::vector<T>& list) {
  return list[static_cast<size_t>(rng.below(std::ssize(list)))];
}

std::string quota_body(int64_t guaranteed, int64_t limit) {
  return fmt::format(R"({{"guaranteed":{},"limit":{}}})", guaranteed, limit);
}

std::string tree_body(const std::string& name, const std::string& parent, int64_t guaranteed, int64_t limit) {
  return fmt::format(R"({{"name":"{}","parent":"{}","quotas":[{}]}})", name, parent, quota_body(guaranteed, limit));
}

std::string binding_body(const std::string& user, const std::string& at, const std::string& role) {
  return fmt::format(R"({{"user":"{}","at":"{}","role":"{}"}})", user, at, role);
}

const std::vector<std::string> kProjects{"nlp", "vision", "search", "default"};

// Where an ordinary user, "u7", is a member.
const std::string& own_project(const std::string& user) { return kProjects[static_cast<size_t>(user.back()) % 3]; }

}  // namespace

// ---- The organisation ----

// One step towards it; true when all of it is there.
bool Users::set_up(Life& life) {
  const State& state = site_.watcher.state();
  auto has_tree = [&](const std::string& name) { return state.tree.contains(TreeName(name)); };
  auto make = [&](const std::string& what, std::string body, const std::string& about = "") {
    send(life, "admin", {.method = Method::kPost, .segments = {what}, .body = std::move(body), .about = about});
    return false;
  };
  for (const std::string name : {"science", "products"})
    if (!has_tree(name)) return make("departments", tree_body(name, "organisation", 4000, 9000));
  for (const std::string name : {"nlp", "vision"})
    if (!has_tree(name)) return make("projects", tree_body(name, "science", 2000, 6000));
  if (!has_tree("search")) return make("projects", tree_body("search", "products", 2000, 6000));
  std::vector<std::string> users{"viewer", "stranger"};
  for (int64_t i = 0; i < count_; ++i) users.push_back("u" + std::to_string(i));
  for (size_t i = 0; i < users.size(); ++i) {
    const std::string& user = users[i];
    if (!state.users.contains(UserName(user))) return make("users", fmt::format(R"({{"name":"{}"}})", user));
    Binding binding{.user = UserName(user), .at = kRootTree, .role = Role::kViewer};
    if (i > 1) binding = {.user = UserName(user), .at = TreeName(own_project(user)), .role = Role::kMember};
    if (user != "stranger" && !state.bindings.contains(binding))
      return make("bindings", binding_body(user, binding.at.text, std::string(to_text(binding.role))));
    if (!tokens_.contains(user)) return make("tokens", fmt::format(R"({{"user":"{}"}})", user), user);
  }
  return true;
}

// ---- Choices ----

std::string Users::any_user() { return "u" + std::to_string(rng_.below(count_)); }
std::string Users::any_project() { return one_of(rng_, kProjects); }

// Mostly one in which the user may.
std::string Users::project_for(const std::string& user) {
  return user == "admin" || rng_.chance(100) ? any_project() : own_project(user);
}

std::string Users::any_workload() {
  std::vector<WorkloadId> unfinished;
  std::vector<WorkloadId> all;
  for (const auto& [id, workload] : site_.watcher.state().workloads) {
    all.push_back(id);
    if (!is_finished(workload->state)) unfinished.push_back(id);
  }
  if (all.empty()) return "w-0000000000000";
  return to_text(unfinished.empty() || rng_.chance(100) ? one_of(rng_, all) : one_of(rng_, unfinished));
}

std::string Users::random_quota() {
  int64_t guaranteed = rng_.below(7) * 1000;
  std::string limit = rng_.chance(500) ? fmt::format(R"(,"limit":{})", guaranteed + rng_.below(8) * 1000) : "";
  return fmt::format(R"({{"guaranteed":{}{},"weight":{},"rank":{}}})", guaranteed, limit, rng_.below(4),
                     rng_.between(-1, 1));
}

std::string Users::random_workload(const std::string& name, const std::string& user) {
  static const std::vector<std::string> kGpus{
      "1", "2", "0.5", "0.25", "0.333", "0.01", "3", R"({"count":2,"share":0.5})", R"({"memory":"20GiB"})"};
  static const std::vector<std::string> kClasses{"production", "training", "development", "batch"};
  static const std::vector<std::string> kKinds{"job", "job", "job", "notebook", "service"};
  std::vector<std::string> fields{fmt::format(R"("name":"{}")", name),
                                  R"("run":["true"])",
                                  R"("folder":"/tmp")",
                                  fmt::format(R"("project":"{}")", project_for(user)),
                                  fmt::format(R"("kind":"{}")", one_of(rng_, kKinds)),
                                  fmt::format(R"("class":"{}")", one_of(rng_, kClasses))};
  std::string resources = rng_.chance(900) ? fmt::format(R"("gpu":{})", one_of(rng_, kGpus)) : "";
  if (rng_.chance(300)) resources += fmt::format(R"({}"cpu":{})", resources.empty() ? "" : ",", rng_.between(1, 6));
  if (rng_.chance(100))
    resources += fmt::format(R"({}"memory":"{}GiB")", resources.empty() ? "" : ",", rng_.between(1, 60));
  fields.push_back(fmt::format(R"("resources":{{{}}})", resources));
  if (rng_.chance(300))
    fields.push_back(fmt::format(R"("replicas":{{"min":{},"max":{}}})", rng_.between(1, 2), rng_.between(2, 5)));
  if (rng_.chance(300)) fields.push_back(fmt::format(R"("priority":{})", rng_.between(-3, 3)));
  if (rng_.chance(400)) fields.push_back(fmt::format(R"("checkpoint":{{"grace":"{}s"}})", rng_.below(60)));
  if (rng_.chance(200)) fields.push_back(fmt::format(R"("limits":{{"duration":"{}s"}})", rng_.between(1, 600)));
  if (rng_.chance(200)) fields.push_back(fmt::format(R"("min_runtime":"{}s")", rng_.between(1, 300)));
  if (rng_.chance(500))
    fields.push_back(fmt::format(R"("retry":{{"on":["failed","node_lost"],"max":{},"back_off":"{}s"}})", rng_.below(4),
                                 rng_.between(1, 40)));
  return "{" + join(fields, ",") + "}";
}

// ---- Requests ----

void Users::submit(Life& life, const std::string& user) {
  if (std::ssize(site_.watcher.state().names) >= kUnfinishedMax) return;
  bool is_keyed = rng_.chance(300) && keyed_.size() < kKeyedMax;
  std::vector<std::string> files;
  int64_t count = rng_.chance(100) ? rng_.between(2, 5) : 1;
  for (int64_t i = 0; i < count; ++i) {
    std::string prefix(is_keyed ? kOncePrefix : "w");
    files.push_back(random_workload(prefix + std::to_string(++names_), user));
  }
  Call call{.method = Method::kPost, .segments = {"workloads"}, .body = R"({"workloads":[)" + join(files, ",") + "]}"};
  if (is_keyed) {
    call.key = fmt::format("key-{}", names_);
    keyed_[call.key] = {.user = user, .call = call, .answer = {}, .first = site_.timeline.now()};
  }
  send(life, user, std::move(call));
}

void Users::submit_again(Life& life) {
  if (keyed_.empty()) return;
  auto found = std::next(keyed_.begin(), rng_.below(std::ssize(keyed_)));
  // After a day the key is free, and the same request would be a new one.
  if (site_.timeline.now() - found->second.first > hours(18)) {
    keyed_.erase(found);
    return;
  }
  send(life, found->second.user, found->second.call);
  if (rng_.chance(100) && !found->second.answer.empty()) keyed_.erase(found);
}

void Users::act_on_workload(Life& life, const std::string& user) {
  static const std::vector<std::string> kActions{"stop", "pause", "resume", "resume"};
  send(life, user, {.method = Method::kPost, .segments = {"workloads", any_workload(), one_of(rng_, kActions)}});
}

void Users::read(Life& life, const std::string& user) {
  static const std::vector<std::vector<std::string>> kReads{
      {"workloads"}, {"queue"}, {"quota"}, {"projects"}, {"nodes"}, {"gpus"}, {"whoami"}, {"tokens"}, {"server"}};
  switch (rng_.below(4)) {
    case 0: return send(life, user, {.segments = {"workloads", any_workload()}});
    case 1: return send(life, user, {.segments = {"workloads", any_workload(), "why"}});
    case 2: return send(life, user, {.segments = {"workloads", any_workload(), "events"}});
  }
  if (rng_.chance(200)) {
    std::string body = R"({"workloads":[)" + random_workload("dry", user) + "]}";
    return send(life, user, {.method = Method::kPost, .segments = {"workloads", "dry_run"}, .body = std::move(body)});
  }
  send(life, user, {.segments = one_of(rng_, kReads)});
}

void Users::administer(Life& life) {
  static const std::vector<std::string> kModes{"cordon", "drain", "uncordon", "uncordon", "uncordon"};
  std::string extra = "extra" + std::to_string(rng_.below(3));
  switch (rng_.below(8)) {
    case 0:
    case 1:
      return send(life, "admin",
                  {.method = Method::kPatch, .segments = {"projects", any_project(), "quota"}, .body = random_quota()});
    case 2:
      return send(life, "admin",
                  {.method = Method::kPatch,
                   .segments = {"departments", rng_.chance(500) ? "science" : "products", "quota"},
                   .body = random_quota()});
    case 3: {
      const Node& node = one_of(rng_, site_.hardware.nodes());
      return send(life, "admin",
                  {.method = Method::kPost, .segments = {"nodes", node.name.text, one_of(rng_, kModes)}});
    }
    case 4:
      return send(life, "admin",
                  {.method = Method::kPost, .segments = {"projects"}, .body = tree_body(extra, "science", 0, 2000)});
    case 5: return send(life, "admin", {.method = Method::kDelete, .segments = {"projects", extra}});
    case 6: return send(life, "admin", {.method = Method::kPost, .segments = {"users"}, .body = R"({"name":"guest"})"});
  }
  if (rng_.chance(300)) return send(life, "admin", {.method = Method::kDelete, .segments = {"users", "guest"}});
  if (rng_.chance(500))
    return send(
        life, "admin",
        {.method = Method::kPost, .segments = {"bindings"}, .body = binding_body("guest", "science", "member")});
  send(life, "admin",
       {.method = Method::kPost,
        .segments = {"tokens"},
        .body = R"({"user":"guest","expires_in":"1h"})",
        .about = "guest"});
}

// What must be refused, whatever else happens.
void Users::misbehave(Life& life) {
  using Expected = Exchange::Expected;
  std::string body = R"({"workloads":[)" + random_workload("bad" + std::to_string(++names_), "admin") + "]}";
  Call call{.method = Method::kPost, .segments = {"workloads"}, .body = body, .expected = Expected::kRefused};
  switch (rng_.below(6)) {
    case 0:  // half of a body
      call.body.resize(static_cast<size_t>(rng_.between(1, std::ssize(body) - 1)));
      return send(life, any_user(), std::move(call));
    case 1: call.body.replace(call.body.find("\"run\""), 5, "\"ran\""); return send(life, any_user(), std::move(call));
    case 2: return send(life, "viewer", std::move(call));
    case 3: return send(life, "stranger", std::move(call));
    case 4:
      call.segments = {"workloads", any_workload(), "stop"};
      call.body.clear();
      return send(life, "viewer", std::move(call));
  }
  call.expected = Expected::kUnauthenticated;
  send(life, "nobody", std::move(call));
}

void Users::ask(Life& life) {
  if (!set_up(life)) return;
  if (site_.faults.strikes(Fault::kBadRequest, 60'000)) return misbehave(life);
  std::string user = rng_.chance(150) ? "admin" : any_user();
  int64_t what = rng_.below(100);
  if (what < 50) return submit(life, user);
  if (what < 58) return submit_again(life);
  if (what < 75) return act_on_workload(life, rng_.chance(600) ? "admin" : user);
  if (what < 90) return read(life, user);
  administer(life);
}

void Users::stop_everything(Life& life) {
  for (const auto& [id, workload] : site_.watcher.state().workloads) {
    if (!is_finished(workload->state))
      send(life, "admin", {.method = Method::kPost, .segments = {"workloads", to_text(id), "stop"}});
  }
}

}  // namespace moulin::sim
