#include <doctest/doctest.h>

#include "api/wire_types.h"

namespace moulin::wire {
namespace {

Json json(std::string_view text) {
  const Result<Json> value = parse_json(text);
  REQUIRE(value.has_value());
  return *value;
}

template <class T>
Error error_of(std::string_view text) {
  const Result<T> value = read<T>(json(text));
  REQUIRE_FALSE(value.has_value());
  CHECK(value.error().code == Code::kInvalid);
  return value.error();
}

}  // namespace

TEST_CASE("a request refuses what it does not know, by name") {
  const Error unknown = error_of<NewTreeNode>(R"({"name":"nlp","parnt":"x"})");
  CHECK(unknown.field == "parnt");
  CHECK(unknown.to_do.find("parent") != std::string::npos);
  const Error nested = error_of<NewTreeNode>(R"({"name":"nlp","quotas":[{},{"weigth":1}]})");
  CHECK(nested.field == "quotas[1].weigth");
  CHECK(error_of<NewTreeNode>("{}").field == "name");
  CHECK(error_of<NewTreeNode>(R"({"name":null})").field == "name");
  CHECK(error_of<NewTreeNode>("[]").allowed.find("object") != std::string::npos);
  CHECK(error_of<NewTreeNode>(R"({"name":7})").field == "name");
  CHECK(error_of<NewTreeNode>(R"({"name":""})").field == "name");
  CHECK(error_of<NewTreeNode>(R"({"name":")" + std::string(64, 'x') + "\"}").field == "name");
}

TEST_CASE("numbers keep to their range and their kind") {
  for (const char* weight : {"-1", "1000001", "1.5", "1e3", "\"1\"", "true", "99999999999999999999"}) {
    CAPTURE(weight);
    CHECK(error_of<QuotaChange>(R"({"weight":)" + std::string(weight) + "}").field == "weight");
  }
  CHECK(read<QuotaChange>(json(R"({"weight":0,"rank":-1000000})"))->rank == -1000000);
  CHECK(error_of<QuotaChange>(R"({"resource":"gpus"})").to_do.find("gpu") != std::string::npos);
  CHECK(error_of<Submission>(R"({"workloads":[]})").field == "workloads");
}

TEST_CASE("what is left out has its default or stays empty") {
  const Result<QuotaChange> change = read<QuotaChange>(json("{}"));
  REQUIRE(change.has_value());
  CHECK(change->pool == "default");
  CHECK(change->resource == Resource::kGpu);
  CHECK_FALSE(change->limit.has_value());
  CHECK_FALSE(change->reset);
  CHECK(read<NewTreeNode>(json(R"({"name":"a"})"))->parent == "organisation");
}

TEST_CASE("workload files go through untouched, for their own reader") {
  const Result<Submission> submission =
      read<Submission>(json(R"({"workloads":[{"resources":{"gpu":0.25},"odd":[]}]})"));
  REQUIRE(submission.has_value());
  CHECK(write_json(submission->workloads[0]) == R"({"resources":{"gpu":0.25},"odd":[]})");
}

TEST_CASE("an answer is written exactly and read back, also by an older client") {
  Attempt attempt{.number = 2,
                  .state = AttemptState::kEnded,
                  .outcome = Outcome::kPreempted,
                  .cause = Cause::kHigherClass,
                  .evicted_for = WorkloadId{99},
                  .created = WallTime{1'000'000},
                  .held_gpu_seconds = GpuTime{12'500'000},
                  .lost_gpu_seconds = GpuTime{1}};
  attempt.replicas.push_back(
      {.state = ReplicaState::kExited,
       .node = "n1",
       .gpus = {{.uuid = "GPU-1", .index = 3, .share_milli = Share{250}, .memory_bytes = gibibytes(20)}},
       .exit = Exit{.code = 0}});
  Json written = write(attempt);
  CHECK(write_json(*written.find("held_gpu_seconds")) == "12.5");
  CHECK(write_json(*written.find("lost_gpu_seconds")) == "0.000001");
  CHECK(written.find("evicted_for")->string() == to_text(WorkloadId{99}));
  CHECK(written.find("started")->is_null());
  CHECK(written.find("created")->string() == "1970-01-01T00:00:01.000000Z");
  const Json& grant = written.find("replicas")->items()[0].find("gpus")->items()[0];
  CHECK(write_json(*grant.find("share_milli")) == "250");
  CHECK(grant.find("isolation")->string() == "advisory");
  const Result<Attempt> again = read<Attempt>(written);
  REQUIRE(again.has_value());
  CHECK(*again == attempt);
  written.set("made_up_later", 1);
  CHECK(read<Attempt>(written).has_value());
}

TEST_CASE("a change of shares is in thousandths, one of classes in words") {
  const Change share{
      .dimension = Dimension::kShare, .from = 500, .to = 250, .text = "ask for 0.25", .starts_now = true};
  CHECK(write_json(write(share)) ==
        R"({"dimension":"share","from":500,"to":250,"text":"ask for 0.25","starts_now":true})");
  const Change word{.dimension = Dimension::kClass, .from = "batch", .to = "training"};
  CHECK(*read<Change>(write(word)) == word);
}

TEST_CASE("empty optional fields of an answer are left out, nullable ones are null") {
  const Json problem = write(Problem{.type = "t", .title = ProblemCode::kConflict, .status = 409, .detail = "d"});
  CHECK(problem.find("field") == nullptr);
  const Json page = write(WorkloadPage{});
  CHECK(write_json(page) == R"({"items":[],"next":null})");
}

}  // namespace moulin::wire
