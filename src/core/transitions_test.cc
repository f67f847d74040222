#include "core/transitions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>

namespace moulin {

namespace {

using Arrow = std::tuple<std::string, std::string, std::string>;

// The rules once more, as a list. A change of the table must be a change here too.
const std::set<Arrow> kArrows{
    {"waiting", "attempt_started", "starting"}, {"waiting", "workload_paused", "paused"},
    {"waiting", "workload_stopped", "stopped"}, {"starting", "attempt_ran", "running"},
    {"starting", "end_asked", "stopping"},      {"starting", "attempt_ended", "waiting"},
    {"starting", "attempt_ended", "succeeded"}, {"starting", "attempt_ended", "failed"},
    {"running", "replicas_added", "running"},   {"running", "end_asked", "stopping"},
    {"running", "attempt_ended", "waiting"},    {"running", "attempt_ended", "succeeded"},
    {"running", "attempt_ended", "failed"},     {"stopping", "end_asked", "stopping"},
    {"stopping", "attempt_ended", "waiting"},   {"stopping", "attempt_ended", "paused"},
    {"stopping", "attempt_ended", "succeeded"}, {"stopping", "attempt_ended", "failed"},
    {"stopping", "attempt_ended", "stopped"},   {"paused", "workload_resumed", "waiting"},
    {"paused", "workload_stopped", "stopped"},  {"succeeded", "workload_forgotten", "succeeded"},
    {"failed", "workload_forgotten", "failed"}, {"stopped", "workload_forgotten", "stopped"},
};

template <class Enum>
std::vector<Enum> all() {
  std::vector<Enum> values;
  for (size_t i = 0; i < kWords<Enum>.size(); ++i) values.push_back(static_cast<Enum>(i));
  return values;
}

}  // namespace

TEST_CASE("every state and step of a workload leads where the rules say, and nowhere else") {
  for (WorkloadState state : all<WorkloadState>()) {
    for (WorkloadStep step : all<WorkloadStep>()) {
      bool any = false;
      for (WorkloadState next : all<WorkloadState>()) {
        Arrow arrow{to_text(state), to_text(step), to_text(next)};
        CAPTURE(to_text(state));
        CAPTURE(to_text(step));
        CAPTURE(to_text(next));
        CHECK(may_follow(state, step, next) == kArrows.contains(arrow));
        any = any || kArrows.contains(arrow);
      }
      CHECK(may_come(state, step) == any);
    }
  }
}

TEST_CASE("a finished workload never comes back") {
  for (WorkloadState state : all<WorkloadState>()) {
    for (WorkloadStep step : all<WorkloadStep>()) {
      for (WorkloadState next : all<WorkloadState>()) {
        if (is_finished(state) && next != state) CHECK_FALSE(may_follow(state, step, next));
      }
    }
  }
}

TEST_CASE("attempts and replicas only go forward") {
  using A = AttemptState;
  const std::set<std::pair<A, A>> attempts{
      {A::kStarting, A::kRunning}, {A::kStarting, A::kStopping}, {A::kStarting, A::kEnded}, {A::kRunning, A::kStopping},
      {A::kRunning, A::kEnded},    {A::kStopping, A::kStopping}, {A::kStopping, A::kEnded}};
  for (A from : all<A>()) {
    for (A to : all<A>()) CHECK(may_follow(from, to) == attempts.contains({from, to}));
  }
  using R = ReplicaState;
  const std::set<std::pair<R, R>> replicas{
      {R::kPlaced, R::kRunning}, {R::kPlaced, R::kExited}, {R::kRunning, R::kExited}};
  for (R from : all<R>()) {
    for (R to : all<R>()) CHECK(may_follow(from, to) == replicas.contains({from, to}));
  }
}

TEST_CASE("the diagram has one line for each arrow") {
  std::string diagram = state_diagram();
  CHECK(diagram.starts_with("stateDiagram-v2\n"));
  for (const auto& [from, step, to] : kArrows) {
    std::string target = step == "workload_forgotten" ? "[*]" : to;
    CHECK(diagram.find("    " + from + " --> " + target + ": " + step + "\n") != std::string::npos);
  }
  CHECK(std::count(diagram.begin(), diagram.end(), '\n') == static_cast<long>(kArrows.size()) + 2);
}

TEST_CASE("the document draws the table as it is") {
  std::ifstream file("docs/life_of_a_workload.md");
  REQUIRE_MESSAGE(file.good(), "run this test in the root of the repository");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK_MESSAGE(text.find("```mermaid\n" + state_diagram() + "```\n") != std::string::npos,
                "docs/life_of_a_workload.md should hold exactly this diagram:\n", state_diagram());
}

}  // namespace moulin
