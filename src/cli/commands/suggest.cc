#include "cli/commands/suggest.h"

#include <fmt/format.h>

#include <set>

#include "cli/complete.h"

namespace moulin::cli {

namespace {

constexpr Duration kPatience = seconds(1);
constexpr int64_t kNamesMax = 1000;

// Asks for lists of names and keeps those that begin with the current word.
class Names {
 public:
  Names(ApiClient& api, std::string_view current) : api_(api), current_(current) {}

  template <class Operation>
  void from(const Operation& operation, auto name_of, auto help_of) {
    auto answer = api_.ask(operation);
    if (!answer) return;
    for (const auto& item : answer->items) add(name_of(item), help_of(item));
  }
  void add(const std::string& name, std::string_view help) {
    if (name.starts_with(current_) && seen_.insert(name).second) found_.push_back({name, std::string(help)});
  }
  std::vector<Candidate> take() { return std::move(found_); }

 private:
  ApiClient& api_;
  std::string_view current_;
  std::set<std::string> seen_;
  std::vector<Candidate> found_;
};

// Names are pleasant, ids are sure: an id is suggested when it is being typed.
void add_workloads(Names& names, std::string_view current) {
  bool by_id = current.starts_with(WorkloadTag::kPrefix);
  names.from(
      wire::ListWorkloads{.limit = kNamesMax},
      [&](const wire::WorkloadSummary& workload) { return by_id ? to_text(workload.id) : workload.name; },
      [&](const wire::WorkloadSummary& workload) {
        return fmt::format("{} in {}", to_text(workload.state), workload.project);
      });
}

std::string kind_text(const wire::TreeNode& node) { return std::string(to_text(node.kind)); }
std::string name_of_node(const wire::TreeNode& node) { return node.name; }

void add_places(Names& names, ValueSource source) {
  if (source != ValueSource::kProject) names.from(wire::ListDepartments{}, name_of_node, kind_text);
  if (source != ValueSource::kDepartment) names.from(wire::ListProjects{}, name_of_node, kind_text);
}

std::vector<Candidate> known_to_server(ApiClient& api, ValueSource source, std::string_view current) {
  Names names(api, current);
  auto nothing = [](const auto&) { return ""; };
  switch (source) {
    case ValueSource::kFree:
    case ValueSource::kListed:
    case ValueSource::kFile:
    case ValueSource::kFolder:
    case ValueSource::kCommand: break;
    case ValueSource::kWorkload: add_workloads(names, current); break;
    case ValueSource::kProject:
    case ValueSource::kDepartment:
    case ValueSource::kPlace: add_places(names, source); break;
    case ValueSource::kUser:
      names.from(wire::ListUsers{}, [](const wire::User& user) { return user.name; }, nothing);
      break;
    case ValueSource::kToken:
      names.from(
          wire::ListTokens{}, [](const wire::Token& token) { return to_text(token.id); },
          [](const wire::Token& token) { return fmt::format("{} {}", token.user, token.label); });
      break;
    case ValueSource::kNode:
      names.from(wire::ListNodes{.limit = kNamesMax}, [](const wire::Node& node) { return node.name; }, nothing);
      break;
    case ValueSource::kModel:
      names.from(wire::ListGpus{}, [](const wire::FreeGpuModel& gpu) { return gpu.model; }, nothing);
      break;
    case ValueSource::kPool:
      names.from(wire::ListGpus{}, [](const wire::FreeGpuModel& gpu) { return gpu.pool; }, nothing);
      break;
  }
  return names.take();
}

std::string_view directive_of(ValueSource source) {
  if (source == ValueSource::kFile) return ":file\n";
  if (source == ValueSource::kFolder) return ":folder\n";
  if (source == ValueSource::kCommand) return ":command\n";
  return "";
}

}  // namespace

int suggest(Session& session, std::span<const std::string_view> words) {
  std::string_view current = words.empty() ? "" : words.back();
  Completion completion = complete(verbs(), words.first(words.size() - (words.empty() ? 0 : 1)), current);
  std::vector<Candidate> candidates = std::move(completion.candidates);
  if (completion.source > ValueSource::kCommand) {
    if (auto api = session.connect(-1, kPatience)) {
      std::vector<Candidate> known = known_to_server(**api, completion.source, current);
      candidates.insert(candidates.begin(), known.begin(), known.end());
    }
  }
  for (const Candidate& candidate : candidates) {
    session.console().print(fmt::format("{}\t{}\n", printable(candidate.text), printable(candidate.help)));
  }
  session.console().print(directive_of(completion.source));
  return 0;
}

}  // namespace moulin::cli
