// The runner itself: what it says about files that are wrong, and about promises not kept.
#include "sim/scenario.h"

#include <doctest/doctest.h>

namespace moulin {

namespace {

std::string report_of(std::string_view text) {
  ScenarioResult result = run_scenario("file.yaml", text);
  CHECK(result.passed == result.report.empty());
  return result.report;
}

void check_reports(std::string_view text, std::initializer_list<std::string_view> parts) {
  std::string report = report_of(text);
  for (std::string_view part : parts) {
    CAPTURE(report);
    CAPTURE(part);
    CHECK(report.find(part) != std::string::npos);
  }
}

std::string with_steps(std::string_view steps) {
  return "promise: It is so.\nnodes: 2xH100-80GB\nsteps:\n" + std::string(steps);
}

}  // namespace

TEST_CASE("a promise that is kept has nothing to report") {
  CHECK(report_of(with_steps("  - submit: {name: a, resources: {gpu: 1}}\n    expect: {states: {a: running}}\n"))
            .empty());
}

TEST_CASE("an unknown word is named, with what was probably meant") {
  check_reports("promise: x\nnods: 1xT4\nsteps: []\n", {"nods", "unknown field", "`nodes`"});
  check_reports(with_steps("  - sumbit: {name: a}\n"), {"file.yaml:4", "steps[0].sumbit", "`submit`"});
  check_reports(with_steps("  - wait: 1s\n  - expect: {stats: {}}\n"), {"file.yaml:5", "expect.stats", "`states`"});
  check_reports(with_steps("  - submit: {name: a, gpus: 1}\n"), {"steps[0].submit.gpus", "unknown field"});
  check_reports(with_steps("  - engine: {stars: never}\n"), {"steps[0].engine.stars"});
  check_reports(with_steps("  - tree: {nlp: {gpu: {limt: 3}}}\n"), {"nlp.gpu.limt", "`limit`"});
  check_reports(with_steps("  - report: {kind: exploded, of: a}\n"), {"no workload of this name"});
}

TEST_CASE("a file that is no scenario says what is missing") {
  check_reports("nodes: 1xT4\nsteps: []\n", {"promise"});
  check_reports("promise: x\nnodes: 1xT4\n", {"steps"});
  check_reports("promise: x\nnodes: a horse\nsteps: []\n", {"nodes"});
  check_reports("promise: [\n", {"file.yaml"});
  check_reports(with_steps("  - stop: a\n    pause: a\n"), {"a step has one action", "stop and pause"});
  check_reports(with_steps("  - wait: soon\n"), {"steps[0].wait", "soon"});
}

TEST_CASE("a promise that is broken is told with line, step, what was expected, what came, and how it came to that") {
  check_reports(
      with_steps("  - submit: {name: a, resources: {gpu: 1}}\n  - wait: 1s\n    expect: {states: {a: failed}}\n"),
      {"file.yaml:5: step 2", "the state of a", "expected: failed", "got:      running", "attempt_ran a"});
  check_reports(with_steps("  - submit: {name: a, resources: {gpu: 3}}\n"),
                {"expected: to be accepted", "no node has that many devices"});
  check_reports(with_steps("  - submit: {name: a, resources: {gpu: 1}}\n    refused: never\n"),
                {"expected: a refusal"});
  check_reports(with_steps("  - submit: {name: a, resources: {gpu: 3}}\n    refused: {code: conflict}\n"),
                {"expected: \"conflict\"", "got:      refused"});
  check_reports(with_steps("  - submit: {name: a, resources: {gpu: 1}}\n    expect: {why: {a: [no_capacity]}}\n"),
                {"the reasons", "expected: [\"no_capacity\"]", "got:      none"});
  check_reports(with_steps("  - submit: {name: a, resources: {gpu: 1}}\n    expect: {attempts: {a: [preempted]}}\n"),
                {"attempt 1", "expected: preempted", "got:      running"});
  check_reports(with_steps("  - wait: 1s\n    expect: {events: [node_removed]}\n"), {"expected: node_removed"});
  check_reports(with_steps("  - submit: {name: a, resources: {gpu: 1}}\n    expect: {no_events: [attempt_ran a]}\n"),
                {"expected: no attempt_ran a"});
  check_reports(with_steps("  - submit: {name: a, resources: {gpu: 1}}\n    expect: {claims: {a: [a]}}\n"),
                {"the claims", "got:      nothing"});
}

}  // namespace moulin
