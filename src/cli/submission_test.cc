#include "cli/submission.h"

#include <doctest/doctest.h>

#include <map>

#include "model/workload_file.h"

namespace moulin::cli {

namespace {

struct World {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;

  Surroundings surroundings() {
    return {.variable = [this](std::string_view name) { return variables[std::string(name)]; },
            .folder = "/data/ada",
            .read_file = [this](const std::string& path, size_t) -> Result<std::string> {
              if (files.contains(path)) return files[path];
              return Error{.code = Code::kNotFound, .message = "no such file", .field = path};
            },
            .random_hex = {},
            .hold_interrupts = {},
            .ask_person = {}};
  }
  Result<Json> document(std::vector<std::string_view> options, Json base = {}) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "python", "train.py"});
    Result<Call> call = parse_call(verbs(), options);
    REQUIRE(call.has_value());
    return document_of_run(*call, surroundings(), std::move(base));
  }
  std::string text(std::vector<std::string_view> options) { return write_json(document(std::move(options)).value()); }
};

}  // namespace

TEST_CASE("a call without options is the command and its folder") {
  World world;
  CHECK(world.text({}) == R"({"folder":"/data/ada","run":["python","train.py"]})");
}

TEST_CASE("every option lands in its field, and the server's reader takes it") {
  World world;
  world.variables["SEED"] = "7";
  Json document = world
                      .document({"--name=a",
                                 "--kind=notebook",
                                 "--class=batch",
                                 "--code=snapshot",
                                 "--cpu=500m",
                                 "--memory=16GiB",
                                 "--isolation=required",
                                 "--checkpoint=ckpt",
                                 "--grace=60s",
                                 "--duration=8h",
                                 "--min-runtime=5m",
                                 "--project=nlp",
                                 "--gpu=2x0.5",
                                 "--gpu-model=H100-80GB",
                                 "--gpu-model=T4-16GB",
                                 "--replicas=2-8",
                                 "--priority=-5",
                                 "--env",
                                 "A=b=c",
                                 "--env",
                                 "SEED",
                                 "--tag",
                                 "team=x",
                                 "--pool=fast",
                                 "--folder=sub"})
                      .value();
  CAPTURE(write_json(document));
  WorkloadSpec spec = read_workload(document, {}).value();
  CHECK(spec.name == "a");
  CHECK(spec.kind == Kind::kNotebook);
  CHECK(spec.priority_class == Class::kBatch);
  CHECK(spec.code == CodeMode::kSnapshot);
  CHECK(spec.resources.cpu == CpuMilli{500});
  CHECK(spec.resources.memory == gibibytes(16));
  CHECK(spec.resources.isolation == IsolationWish::kRequired);
  CHECK(spec.resources.gpu == GpuRequest{.form = GpuForm::kShare, .count = 2, .share = {500}});
  CHECK(spec.resources.gpu_models.size() == 2);
  CHECK(spec.checkpoint_path == "ckpt");
  CHECK(spec.grace == seconds(60));
  CHECK(spec.duration_limit == hours(8));
  CHECK(spec.min_runtime == minutes(5));
  CHECK(spec.project == TreeName("nlp"));
  CHECK(spec.replicas == ReplicaRange{.min = 2, .max = 8});
  CHECK(spec.priority == -5);
  CHECK(spec.environment == std::map<std::string, std::string>{{"A", "b=c"}, {"SEED", "7"}});
  CHECK(spec.tags.at("team") == "x");
  CHECK(spec.pools == std::vector{PoolName("fast")});
  CHECK(spec.folder == "/data/ada/sub");
}

TEST_CASE("the forms of --gpu") {
  CHECK(write_json(gpu_document("0.25")) == "\"0.25\"");
  CHECK(write_json(gpu_document("2x0.5")) == R"({"count":2,"share":"0.5"})");
  CHECK(write_json(gpu_document("20GiB")) == R"({"memory":"20GiB"})");
  CHECK(write_json(gpu_document("xyz")) == "\"xyz\"");
}

TEST_CASE("the project comes from the option, else from the environment") {
  World world;
  world.variables["MOULIN_PROJECT"] = "vision";
  CHECK(world.document({}).value().find("project")->string() == "vision");
  CHECK(world.document({"--project", "nlp"}).value().find("project")->string() == "nlp");
  Json base =
      Json::object({{"project", "base"}, {"folder", "/elsewhere"}, {"env", Json::object({{"A", "1"}, {"B", "2"}})}});
  Json document = world.document({"--env", "B=3"}, base).value();
  CHECK(document.find("project")->string() == "base");
  CHECK(document.find("folder")->string() == "/elsewhere");
  CHECK(write_json(*document.find("env")) == R"({"A":"1","B":"3"})");
}

TEST_CASE("a tag needs a value") {
  World world;
  CHECK(world.document({"--tag", "x"}).error().field == "--tag");
}

TEST_CASE("files: several documents, their folder, JSON") {
  World world;
  world.files["jobs/a.yaml"] = "{run: x}\n---\n{run: y, folder: sub}\n---\n{run: z, folder: /abs}\n";
  std::vector<Json> documents = documents_of_file("jobs/a.yaml", world.surroundings()).value();
  REQUIRE(documents.size() == 3);
  CHECK(documents[0].find("folder")->string() == "/data/ada/jobs");
  CHECK(documents[1].find("folder")->string() == "/data/ada/jobs/sub");
  CHECK(documents[2].find("folder")->string() == "/abs");
  world.files["-"] = "run: x";
  CHECK(documents_of_file("-", world.surroundings()).value()[0].find("folder")->string() == "/data/ada");
  world.files["/x.json"] = R"({"run": "\ud83d\ude00"})";
  CHECK(documents_of_file("/x.json", world.surroundings()).value()[0].find("folder")->string() == "/");
}

TEST_CASE("a file that cannot be read as one says where") {
  World world;
  world.files["a.yaml"] = "run: [x";
  CHECK(documents_of_file("a.yaml", world.surroundings()).error().field == "a.yaml");
  world.files["empty.yaml"] = "";
  CHECK(documents_of_file("empty.yaml", world.surroundings()).error().field == "empty.yaml");
  CHECK(documents_of_file("none.yaml", world.surroundings()).error().code == Code::kNotFound);
}

TEST_CASE("fields of answers are named as the person wrote them") {
  CHECK(field_of_run("workloads[0].resources.gpu") == "--gpu");
  CHECK(field_of_run("workloads[0].resources.gpu.share") == "--gpu");
  CHECK(field_of_run("workloads[0].resources.gpu_model[1]") == "--gpu-model");
  CHECK(field_of_run("workloads[0].env.A-B") == "--env A-B");
  CHECK(field_of_run("workloads[0].run[0]") == "the command");
  CHECK(field_of_run("workloads[0].folder") == "--folder");
  CHECK(field_of_run("Idempotency-Key") == "Idempotency-Key");
  CHECK(field_of_file("workloads[0].resources.gpu", 1) == "resources.gpu");
  CHECK(field_of_file("workloads[2].name", 3) == "document 3: name");
  CHECK(field_of_file("workloads", 3) == "workloads");
}

}  // namespace moulin::cli
