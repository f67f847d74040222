#include "engine/gpu/simulate_spec.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace moulin;

namespace {
std::string refusal(std::string_view spec) {
  Result<std::vector<SimulatedNode>> nodes = parse_simulate_spec(spec);
  return nodes ? "accepted" : nodes.error().to_text();
}
bool says(std::string_view spec, std::string_view part) {
  std::string text = refusal(spec);
  bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}
}  // namespace

TEST_CASE("one node with eight GPUs") {
  std::vector<SimulatedNode> nodes = *parse_simulate_spec("8xH100-80GB");
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].name == NodeName("sim-000"));
  CHECK(nodes[0].cpu == CpuMilli{128'000});
  CHECK(nodes[0].memory == gibibytes(1024));
  REQUIRE(nodes[0].gpus.size() == 8);
  CHECK(nodes[0].gpus[7].uuid == GpuUuid("GPU-sim-000-07"));
  CHECK(nodes[0].gpus[7].index == 7);
  CHECK(nodes[0].gpus[7].model == ModelName("H100-80GB"));
  CHECK(nodes[0].gpus[7].memory == mebibytes(81559));
}

TEST_CASE("many nodes, mixed, with CPU and memory") {
  CHECK(parse_simulate_spec("500x(8xH100-80GB)")->size() == 500);
  std::vector<SimulatedNode> nodes =
      *parse_simulate_spec(" 2x( 8xH100-80GB , 64cpu,512GiB ) + 1x(4xA100-40GB,2xT4) + (0.5cpu) + 1xL4-24GB ");
  REQUIRE(nodes.size() == 5);
  CHECK(nodes[1].cpu == CpuMilli{64'000});
  CHECK(nodes[1].memory == gibibytes(512));
  CHECK(nodes[2].gpus.size() == 6);
  CHECK(nodes[2].gpus[5].model == ModelName("T4-16GB"));
  CHECK(nodes[2].cpu == CpuMilli{96'000});
  CHECK(nodes[3].gpus.empty());
  CHECK(nodes[3].cpu == CpuMilli{500});
  CHECK(nodes[3].memory == gibibytes(64));
  CHECK(nodes[4].gpus[0].model == ModelName("L4-24GB"));
}

TEST_CASE("names are ordered and stable when a spec grows") {
  std::vector<SimulatedNode> few = *parse_simulate_spec("12x(1xT4)");
  std::vector<SimulatedNode> many = *parse_simulate_spec("1000x(1xT4)");
  CHECK(few[11].gpus[0].uuid == many[11].gpus[0].uuid);
  std::vector<SimulatedNode> most = *parse_simulate_spec("1001x(16xT4)");
  CHECK(most[1000].name == NodeName("sim-1000"));
  CHECK(std::is_sorted(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const SimulatedNode& node : most) {
    CHECK(std::is_sorted(node.gpus.begin(), node.gpus.end(),
                         [](const auto& a, const auto& b) { return a.uuid < b.uuid; }));
  }
}

TEST_CASE("the largest that is allowed") {
  CHECK(parse_simulate_spec("100000x(1xT4)")->size() == 100'000);
  CHECK(says("100001x(1xT4)", "1 to 100000"));
  CHECK(says("60000x(1xT4)+60000x(1xT4)", "too many nodes; given: 120000; allowed: at most 100000 in all"));
  CHECK(says("100000x(16xT4)", "too many GPUs; given: 1600000"));
  CHECK(says("17xT4", "1 to 16 on each node"));
  CHECK(says("(9xT4,8xT4)", "1 to 16 on each node"));
  CHECK(says(std::string(5000, ' '), "too long"));
}

TEST_CASE("errors name the position, what stands there, and what may") {
  CHECK(says("", "simulate, position 1"));
  CHECK(says("", "given: the end"));
  CHECK(says("8xH100", "H100-80GB or H100-94GB"));
  CHECK(says("8xFoo", "simulate, position 3: the memory of this GPU model is not known"));
  CHECK(says("0xT4", "1 to 16"));
  CHECK(says("0x(1xT4)", "not a number of nodes; given: 0x(1xT4)"));
  CHECK(says("2x(1xT4", "given: the end; allowed: ',' and another part, or ')'"));
  CHECK(says("2x(1xT4))", "simulate, position 9: after a node; given: )"));
  CHECK(says("1xT4+", "simulate, position 6"));
  CHECK(says("1xT4,64cpu", "after a node; given: ,64cpu"));
  CHECK(says("(1xT4,64cpu,32cpu)", "simulate, position 13: not an amount of CPU"));
  CHECK(says("(1xT4,5000cpu)", "not an amount of CPU"));
  CHECK(says("(1xT4,0cpu)", "not an amount of CPU"));
  CHECK(says("(1xT4,-1cpu)", "not an amount of CPU"));
  CHECK(says("(1xT4,512)", "not a part of a node"));
  CHECK(says("(1xT4,1KiB)", "from 64MiB to 64TiB"));
  CHECK(says("(1xT4,1GiB,1GiB)", "position 12"));
  CHECK(says("()", "a part of a node is missing"));
  CHECK(says("999999999999999999999x(1xT4)", "position 1"));
  CHECK(says("banana", "not a part of a node; given: banana"));
}
