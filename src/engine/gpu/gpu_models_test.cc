#include "engine/gpu/gpu_models.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/gpu/xid.h"

using namespace moulin;

namespace {
std::string named(std::string_view product, int64_t mib) { return model_name(product, mebibytes(mib)).text; }
}  // namespace

TEST_CASE("product names of the driver become short model names") {
  struct Case {
    std::string_view product;
    int64_t mib;
    std::string_view name;
  };
  const Case cases[] = {
      {"NVIDIA H100 80GB HBM3", 81559, "H100-80GB"},
      {"NVIDIA H100 PCIe", 81559, "H100-80GB"},
      {"NVIDIA H100 NVL", 95830, "H100-94GB"},
      {"NVIDIA H200", 143771, "H200-141GB"},
      {"NVIDIA A100-SXM4-40GB", 40960, "A100-40GB"},
      {"NVIDIA A100-SXM4-80GB", 81920, "A100-80GB"},
      {"NVIDIA A100 80GB PCIe", 81920, "A100-80GB"},
      {"A100-PCIE-40GB", 40536, "A100-40GB"},
      {"Tesla V100-SXM2-16GB", 16160, "V100-16GB"},
      {"Tesla V100-SXM2-32GB", 32510, "V100-32GB"},
      {"Tesla T4", 15360, "T4-16GB"},
      {"NVIDIA L4", 23034, "L4-24GB"},
      {"NVIDIA L40S", 46068, "L40S-48GB"},
      {"NVIDIA B200", 183359, "B200-180GB"},
      {"NVIDIA GeForce RTX 4090", 24564, "RTX-4090-24GB"},
      {"NVIDIA RTX A6000", 49140, "RTX-A6000-48GB"},
      {"NVIDIA GeForce GTX 1080 Ti", 11264, "GTX-1080-Ti-11GB"},
      // The size in this name is that of the processor's memory.
      {"NVIDIA GH200 480GB", 97871, "GH200-96GB"},
      // A model that nobody knows yet: the hint when it is plausible, else what is there.
      {"NVIDIA X900 128GB HBM5", 130000, "X900-HBM5-128GB"},
      {"NVIDIA X900", 130000, "X900-127GB"},
      {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4864, "A100-5GB"},
      {"", 1024, "GPU-1GB"},
      {"NVIDIA Graphics Device", 0, "GPU-0GB"},
      {"\xff\n../etc", 1024, "etc-1GB"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.product);
    CHECK(named(one.product, one.mib) == one.name);
  }
}

TEST_CASE("a model name never grows beyond 63 bytes") {
  std::string product(500, 'a');
  CHECK(named(product, 1024) == "GPU-1GB");
  CHECK(named("ab " + std::string(54, 'c') + " dd", 1024).size() <= 63);
}

TEST_CASE("the table of models is ordered, unique, and keeps its own names") {
  auto models = known_gpu_models();
  CHECK(std::is_sorted(models.begin(), models.end(),
                       [](const GpuModel& a, const GpuModel& b) { return a.name < b.name; }));
  for (const GpuModel& model : models) {
    CAPTURE(model.name);
    CHECK(named(model.name, model.memory_mib) == model.name);
    Result<SimulatedModel> simulated = simulated_model(model.name);
    REQUIRE(simulated);
    CHECK(simulated->memory == mebibytes(model.memory_mib));
    CHECK(driver_reserve(simulated->memory) * 8 < simulated->memory);
  }
}

TEST_CASE("models to be simulated") {
  CHECK(simulated_model("T4")->name == ModelName("T4-16GB"));
  CHECK(simulated_model("X100-64GB")->memory == gibibytes(64));
  CHECK(simulated_model("A100").error().allowed == "A100-40GB or A100-80GB");
  for (std::string_view bad :
       {"", "X100", "X100-GB", "X100-0GB", "X100-1025GB", "-64GB", "X 1-64GB", "X100-99999999999GB"}) {
    CAPTURE(bad);
    CHECK_FALSE(simulated_model(bad));
  }
}

TEST_CASE("the driver's reserve grows with the memory") {
  CHECK(driver_reserve(mebibytes(15360)) == mebibytes(422));
  CHECK(driver_reserve(mebibytes(81559)) == mebibytes(587));
}

TEST_CASE("XIDs are ordered, and each that needs an action says which") {
  auto xids = known_xids();
  CHECK(std::is_sorted(xids.begin(), xids.end(),
                       [](const XidMeaning& a, const XidMeaning& b) { return a.number < b.number; }));
  for (const XidMeaning& xid : xids) {
    CAPTURE(xid.number);
    CHECK(xid.to_do.empty() == (xid.gravity == XidGravity::kApplication));
    CHECK(xid_meaning(xid.number)->text == xid.text);
  }
  for (int32_t fatal : {48, 64, 74, 79, 94, 95, 119, 120}) CHECK(xid_meaning(fatal)->gravity == XidGravity::kFatal);
  for (int32_t fault : {13, 31, 43, 45}) CHECK(xid_meaning(fault)->gravity == XidGravity::kApplication);
  CHECK(xid_meaning(63)->gravity == XidGravity::kAttention);
  CHECK_FALSE(xid_meaning(9999));
  CHECK_FALSE(xid_meaning(-1));
}
