#include "sim/scenario_world.h"

#include <fmt/format.h>

namespace moulin::scenario {

namespace {

// What an event is about when it is about no workload.
struct Subject {
  std::string operator()(const event::TreeNodeCreated& e) const { return e.node.name.text; }
  std::string operator()(const event::QuotaChanged& e) const { return e.at.text; }
  std::string operator()(const event::TreeNodeRemoved& e) const { return e.name.text; }
  std::string operator()(const event::UserCreated& e) const { return e.user.name.text; }
  std::string operator()(const event::UserChanged& e) const { return e.name.text; }
  std::string operator()(const event::UserRemoved& e) const { return e.name.text; }
  std::string operator()(const event::RoleGranted& e) const { return e.binding.user.text; }
  std::string operator()(const event::RoleRevoked& e) const { return e.binding.user.text; }
  std::string operator()(const event::NodeRegistered& e) const { return e.node.name.text; }
  std::string operator()(const event::NodeModeChanged& e) const { return e.node.text; }
  std::string operator()(const event::NodePresenceChanged& e) const { return e.node.text; }
  std::string operator()(const event::GpuChanged& e) const { return e.node.text; }
  std::string operator()(const event::NodeRemoved& e) const { return e.node.text; }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

std::string at_text(Instant at) { return fmt::format("{:>9.3f} s", static_cast<double>(at.us - hours(1).us) / 1e6); }

}  // namespace

void World::give(CommandBody body) {
  Result<Events> done = simulation.give(actor, std::move(body));
  refusal = done ? std::nullopt : std::optional(done.error());
}

void World::give_as_system(CommandBody body) {
  UserName who = std::exchange(actor, UserName{});
  give(std::move(body));
  actor = who;
}

Result<WorkloadId> World::find(std::string_view name, std::string_view path) const {
  size_t slash = name.find('/');
  std::string_view project = slash == std::string_view::npos ? std::string_view{} : name.substr(0, slash);
  std::string_view plain = slash == std::string_view::npos ? name : name.substr(slash + 1);
  const std::vector<Event>& journal = simulation.journal();
  for (size_t i = journal.size(); i-- > 0;) {
    const auto* submitted = std::get_if<event::WorkloadSubmitted>(&journal[i].body);
    if (submitted == nullptr || submitted->spec.name != plain) continue;
    if (project.empty() || submitted->spec.project.text == project) return submitted->workload;
  }
  return Error{.code = Code::kInvalid,
               .message = "no workload of this name was submitted before",
               .field = std::string(path),
               .given = std::string(name)};
}

std::string World::name_of(WorkloadId id) const {
  for (const Event& event : simulation.journal()) {
    const auto* submitted = std::get_if<event::WorkloadSubmitted>(&event.body);
    if (submitted != nullptr && submitted->workload == id) return submitted->spec.name;
  }
  return to_text(id);
}

std::string event_line(const World& world, const Event& event) {
  WorkloadId id = event_workload(event.body);
  std::string subject = id ? world.name_of(id) : std::visit(Subject{}, event.body);
  return std::string(event_word(event.body)) + (subject.empty() ? "" : " " + subject);
}

std::string World::recent_events(size_t count_max) const {
  const std::vector<Event>& journal = simulation.journal();
  std::string text;
  size_t first = journal.size() > count_max ? journal.size() - count_max : 0;
  for (size_t i = first; i < journal.size(); ++i)
    text += fmt::format("    {}  {}\n", at_text(journal[i].at), event_line(*this, journal[i]));
  return text;
}

}  // namespace moulin::scenario
