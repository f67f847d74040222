#include "model/workload_file.h"

#include <doctest/doctest.h>

#include <string>

#include "base/yaml.h"

namespace moulin {

namespace {

const WorkloadDefaults kDefaults{.name = "unnamed", .project = TreeName("nlp"), .folder = "/data/ada"};

Result<WorkloadSpec> read(std::string_view yaml) {
  Result<Json> document = parse_yaml(yaml);
  REQUIRE(document);
  return read_workload(*document, kDefaults);
}

Error error_of(std::string_view yaml) {
  CAPTURE(yaml);
  Result<WorkloadSpec> spec = read(yaml);
  REQUIRE_FALSE(spec);
  CHECK(spec.error().code == Code::kInvalid);
  return spec.error();
}

// The error of "run: x" with one more line.
Error error_with(std::string_view line) { return error_of("run: x\n" + std::string(line)); }

constexpr std::string_view kFull = R"(
kind: job
name: bert-finetune
project: nlp
run: python train.py
folder: src
code: snapshot
image: null
resources:
  gpu: 0.25
  gpu_model: [H100-80GB, A100-80GB]
  isolation: required
  cpu: 4
  memory: 16GiB
replicas: {min: 2, max: 8}
class: batch
priority: -7
min_runtime: 5m
checkpoint: {path: ckpt, grace: 60s}
retry: {on: [failed], max: 5, back_off: 1m}
limits: {duration: 8h}
env: {LR: 1e-4, SEED: 7, NOTE: "two words"}
tags: {cost_center: r42}
pools: [fast, slow]
)";

}  // namespace

TEST_CASE("a file with every field") {
  WorkloadSpec spec = read(kFull).value();
  CHECK(spec.kind == Kind::kJob);
  CHECK(spec.name == "bert-finetune");
  CHECK(spec.project == TreeName("nlp"));
  CHECK(spec.argv == std::vector<std::string>{"/bin/sh", "-c", "python train.py"});
  CHECK(spec.shell);
  CHECK(spec.folder == "/data/ada/src");
  CHECK(spec.code == CodeMode::kSnapshot);
  CHECK(spec.resources.gpu.share == Share{250});
  CHECK(spec.resources.gpu_models == std::vector{ModelName("H100-80GB"), ModelName("A100-80GB")});
  CHECK(spec.resources.isolation == IsolationWish::kRequired);
  CHECK(spec.resources.cpu == CpuMilli{4000});
  CHECK(spec.resources.memory == gibibytes(16));
  CHECK(spec.replicas == ReplicaRange{.min = 2, .max = 8});
  CHECK(spec.priority_class == Class::kBatch);
  CHECK(spec.priority == -7);
  CHECK(spec.min_runtime == minutes(5));
  CHECK(spec.checkpoints);
  CHECK(spec.checkpoint_path == "ckpt");
  CHECK(spec.grace == seconds(60));
  CHECK(spec.retry == Retry{.on_failed = true, .on_node_lost = false, .max = 5, .back_off = minutes(1)});
  CHECK(spec.duration_limit == hours(8));
  CHECK(spec.environment.at("LR") == "1e-4");
  CHECK(spec.environment.at("SEED") == "7");
  CHECK(spec.tags.at("cost_center") == "r42");
  CHECK(spec.pools == std::vector{PoolName("fast"), PoolName("slow")});
}

TEST_CASE("what a file leaves open has its default") {
  WorkloadSpec spec = read("run: [python, train.py, '']").value();
  WorkloadSpec expected;
  expected.name = "unnamed";
  expected.project = TreeName("nlp");
  expected.argv = {"python", "train.py", ""};
  expected.folder = "/data/ada";
  CHECK(spec == expected);
  CHECK(read("{kind: notebook, run: x}").value().priority_class == Class::kDevelopment);
  CHECK(read("{kind: service, run: x}").value().priority_class == Class::kProduction);
  CHECK(read("{kind: service, class: batch, run: x}").value().priority_class == Class::kBatch);
}

TEST_CASE("a written workload reads back as the same") {
  for (std::string_view yaml :
       {kFull, std::string_view("run: [a, b]"), std::string_view("{run: x, folder: /, replicas: 3, checkpoint: {}}"),
        std::string_view(
            "{run: x, resources: {gpu: {count: 2, share: 0.5}, cpu: 500m}, retry: {on: [], max: 0, back_off: 0}}"),
        std::string_view(
            "{kind: notebook, run: x, resources: {gpu: {memory: 20GiB}}, env: {}, tags: {}, pools: []}")}) {
    WorkloadSpec spec = read(yaml).value();
    Json written = write_workload(spec);
    CAPTURE(write_json(written));
    CHECK(read_workload(written, {}).value() == spec);
    CHECK(read_workload(parse_json(write_json(written)).value(), {}).value() == spec);
  }
}

TEST_CASE("a field that is not built yet is refused by name") {
  for (const char* field :
       {"image", "idle", "after", "secrets", "volumes", "ports", "roles", "not_before", "deadline", "topology"}) {
    Error error = error_with(std::string(field) + ": [x]");
    CHECK(error.message == "`" + std::string(field) + "` is not built yet");
    CHECK(error.field == field);
    CHECK(error.to_do == "remove it");
  }
  CHECK(error_with("limits: {cost: 40}").field == "limits.cost");
}

TEST_CASE("an unknown field is refused with the nearest one") {
  CHECK(error_of("rnu: x").to_do == "did you mean `run`?");
  CHECK(error_with("resource: {}").to_do == "did you mean `resources`?");
  CHECK(error_with("resources: {gpus: 1}").field == "resources.gpus");
  CHECK(error_with("checkpoint: {dir: x}").field == "checkpoint.dir");
  CHECK(error_with("retry: {times: 1}").field == "retry.times");
  CHECK(error_with("zzzzzz: 1").to_do == "remove it");
}

TEST_CASE("the command is text or a list of text") {
  CHECK(error_of("{name: x}").message == "is missing");
  CHECK(error_with("replicas: {min: 1}").message == "is missing");
  CHECK(error_of("run: ''").message == "is empty");
  CHECK(error_of("run: '  '").message == "is blank");
  CHECK(error_of("run: []").message == "is empty");
  CHECK(error_of("run: ['', a]").field == "run[0]");
  CHECK(error_of("run: [python, 5]").field == "run[1]");
  CHECK(error_of("run: 5").allowed == "a command for the shell, or a list of a program and its arguments");
  CHECK(error_of("run: \"a\\0b\"").message == "holds a NUL byte");
  CHECK(error_of("run: " + std::string(70'000, 'x')).message == "is too long: 70000 bytes");
  CHECK(error_of("run: [" + std::string(40'000, 'x') + ", " + std::string(40'000, 'y') + "]").message == "is too long");
  std::string many = "run: [x";
  for (int i = 0; i < 1000; ++i) many += ", x";
  CHECK(error_of(many + "]").given == "1001 items");
}

TEST_CASE("text that is not UTF-8 is refused") {
  Json document = Json::object({{"run", std::string("a\xff")}});
  CHECK(read_workload(document, kDefaults).error().message == "is not UTF-8");
}

TEST_CASE("names follow the rule for names") {
  CHECK(error_with("name: Bert").field == "name");
  CHECK(error_with("name: ''").allowed.starts_with("1 to 63 lower-case letters"));
  CHECK(error_with("name: " + std::string(64, 'x')).field == "name");
  CHECK(error_with("name: 7").allowed == "a name in quotes");
  CHECK(error_with("project: a/b").field == "project");
  CHECK(read_workload(parse_yaml("run: x").value(), {}).error().field == "name");
}

TEST_CASE("the folder is absolute or below the default one, and never climbs") {
  CHECK(read("{run: x, folder: ./a//b/.}").value().folder == "/data/ada/a/b");
  CHECK(read("{run: x, folder: .}").value().folder == "/data/ada");
  CHECK(read("{run: x, folder: /srv//x/}").value().folder == "/srv/x");
  CHECK(error_with("folder: a/../..").message == "climbs out of its folder");
  CHECK(error_with("folder: ''").message == "is empty");
  CHECK(error_with("folder: /" + std::string(5000, 'x')).message == "is too long: 5001 bytes");
  CHECK(error_with("checkpoint: {path: ../x}").field == "checkpoint.path");
  Json relative = parse_yaml("{name: a, run: x, folder: b}").value();
  CHECK(read_workload(relative, {}).error().allowed == "an absolute path");
}

TEST_CASE("amounts are bounded and never negative") {
  CHECK(error_with("resources: {gpu: 1.5}").to_do.starts_with("write 2 for whole devices"));
  for (const char* bad : {"cpu: 0", "cpu: -1", "cpu: 0.0001", "cpu: 1000001", "cpu: x", "cpu: []", "memory: 0",
                          "memory: 16", "memory: -1GiB", "memory: 1PiB", "memory: 99999TiB", "gpu: 0", "gpu: 0.0001"}) {
    CAPTURE(std::string(bad));
    CHECK(error_with("resources: {" + std::string(bad) + "}").field.starts_with("resources."));
  }
  for (const char* bad : {"replicas: 0", "replicas: -1", "replicas: 10001", "replicas: 1.5", "replicas: many",
                          "replicas: 99999999999999999999", "replicas: {min: 3, max: 2}", "priority: 1001",
                          "priority: -1001", "priority: 0.5", "min_runtime: -1s", "min_runtime: 5", "min_runtime: 11y",
                          "checkpoint: {grace: 11m}", "retry: {max: 101}", "retry: {back_off: 2h}",
                          "retry: {on: [preempted]}", "limits: {duration: 0s}", "limits: {duration: forever}"}) {
    CAPTURE(std::string(bad));
    Error error = error_with(bad);
    CHECK_FALSE(error.field.empty());
    CHECK_FALSE(error.allowed.empty());
  }
}

TEST_CASE("words are those of the glossary") {
  CHECK(error_with("kind: jobs").to_do == "did you mean \"job\"?");
  CHECK(error_with("class: trainning").to_do == "did you mean \"training\"?");
  CHECK(error_with("code: copy").allowed == "live or snapshot");
  CHECK(error_with("resources: {isolation: mps}").allowed == "any or required");
}

TEST_CASE("models and pools are short lists without doubles") {
  CHECK(read("{run: x, resources: {gpu_model: T4}}").value().resources.gpu_models == std::vector{ModelName("T4")});
  CHECK(error_with("resources: {gpu_model: [T4, T4]}").message == "is named twice");
  CHECK(error_with("resources: {gpu_model: [a b]}").field == "resources.gpu_model[0]");
  CHECK(error_with("pools: [a, a]").field == "pools[1]");
  CHECK(error_with("pools: [A]").field == "pools[0]");
  CHECK(error_with("pools: a").allowed == "a list of at most 16");
}

TEST_CASE("variables have names of variables, and those of Moulin are Moulin's") {
  for (const char* bad :
       {"'': x", "1A: x", "A-B: x", "A=B: x", "MOULIN_ATTEMPT: x", "CUDA_VISIBLE_DEVICES: x", "A: true", "A: [x]"}) {
    CAPTURE(std::string(bad));
    CHECK(error_with("env: {" + std::string(bad) + "}").field.starts_with("env"));
  }
  CHECK(read("{run: x, env: {RANK: 1}}").value().environment.at("RANK") == "1");
  CHECK(error_of("{run: x, replicas: 2, env: {RANK: 1}}").message == "is set by Moulin");
  CHECK(error_with("env: {A: \"a\\0b\"}").message == "holds a NUL byte");
  CHECK(error_with("env: {A: " + std::string(40'000, 'x') + ", B: " + std::string(40'000, 'x') + "}").message ==
        "is too large");
  std::string many = "env: {";
  for (int i = 0; i < 501; ++i) many += "A" + std::to_string(i) + ": x, ";
  CHECK(error_with(many + "}").given == "501 variables");
}

TEST_CASE("tags are short lines") {
  CHECK(error_with("tags: {A: x}").field == "tags.A");
  CHECK(error_with("tags: {a: \"x\\ny\"}").message == "holds control characters");
  CHECK(error_with("tags: {a: " + std::string(257, 'x') + "}").message == "is too long: 257 bytes");
  CHECK(error_with("tags: {a: " + std::string(257, '1') + "}").message == "is too long: 257 bytes");
  CHECK(error_with("tags: [a]").field == "tags");
  std::string many = "tags: {";
  for (int i = 0; i < 65; ++i) many += "a" + std::to_string(i) + ": x, ";
  CHECK(error_with(many + "}").given == "65 tags");
}

TEST_CASE("a document that is no object is refused") {
  for (const char* bad : {"", "x", "5", "[run]", "null"}) CHECK(error_of(bad).field == "document");
}

}  // namespace moulin
