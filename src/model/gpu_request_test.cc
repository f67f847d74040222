#include "model/gpu_request.h"

#include <doctest/doctest.h>

namespace moulin {

namespace {

Json number(std::string_view text) { return JsonNumber{std::string(text)}; }

Result<GpuRequest> read(std::string_view json) {
  Result<Json> value = parse_json(json);
  REQUIRE(value);
  return read_gpu_request(*value, "resources.gpu");
}

Error error_of(std::string_view json) {
  Result<GpuRequest> request = read(json);
  REQUIRE_FALSE(request);
  return request.error();
}

}  // namespace

TEST_CASE("the four forms of a GPU request") {
  CHECK(read("0.25").value() == GpuRequest{.form = GpuForm::kShare, .count = 1, .share = {250}});
  CHECK(read("\"0.25\"").value() == GpuRequest{.form = GpuForm::kShare, .count = 1, .share = {250}});
  CHECK(read("2").value() == GpuRequest{.form = GpuForm::kDevices, .count = 2, .share = kWholeDevice});
  CHECK(read("1.0").value() == GpuRequest{.form = GpuForm::kDevices, .count = 1, .share = kWholeDevice});
  CHECK(read(R"({"count": 2, "share": 0.5})").value() ==
        GpuRequest{.form = GpuForm::kShare, .count = 2, .share = {500}});
  CHECK(read(R"({"count": 2, "share": 1})").value() == read("2").value());
  CHECK(read(R"({"share": 0.01})").value() == read("0.01").value());
  CHECK(read(R"({"memory": "20GiB"})").value() ==
        GpuRequest{.form = GpuForm::kMemory, .count = 1, .memory = gibibytes(20)});
}

TEST_CASE("every form reads back from what is written") {
  for (const char* json : {"0.25", "0.01", "0.999", "1", "8", "1000000", R"({"count":2,"share":0.5})",
                           R"({"memory":"20GiB"})", R"({"memory":"1536MiB"})"}) {
    GpuRequest request = read(json).value();
    CHECK(read_gpu_request(write_gpu_request(request), "x").value() == request);
  }
  CHECK(write_gpu_request({}).is_null());
  CHECK(write_json(write_gpu_request(read("\"0.250\"").value())) == "0.25");
}

TEST_CASE("a share is at least 0.01 and in thousandths") {
  CHECK(error_of("0").to_do == "leave the field out for a workload without GPU");
  CHECK(error_of("0.000").message == "asks for nothing");
  CHECK(error_of("0.0001").message == "is finer than thousandths of a device");
  CHECK(error_of("0.009").message == "is below the smallest share, 0.01");
  CHECK(error_of(R"({"share": 0})").message == "is below the smallest share, 0.01");
  CHECK(error_of(R"({"share": 1.001})").message == "is more than one device");
  CHECK(error_of(R"({"share": 0.1234})").message == "is finer than thousandths of a device");
  CHECK(error_of(R"({"share": 0})").field == "resources.gpu.share");
}

TEST_CASE("one and a half devices: the message says what to write") {
  Error error = error_of("1.5");
  CHECK(error.field == "resources.gpu");
  CHECK(error.given == "1.5");
  CHECK(error.to_do ==
        "write 2 for whole devices, or {count: 2, share: 0.75} (2x0.75 on the command line) for 0.75 of each of 2");
  CHECK(error_of("2.5").to_do ==
        "write 3 for whole devices, or {count: 3, share: 0.834} (3x0.834 on the command line) for 0.834 of each of 3");
}

TEST_CASE("negative, huge and odd amounts are refused") {
  CHECK(error_of("-1").message == "is negative");
  CHECK(error_of("1000001").message == "is too large");
  CHECK(error_of("99999999999999999999999999").message == "is too large");
  CHECK(error_of("1e2").message == "is no amount of GPU");
  CHECK(error_of("\"\"").message == "is no amount of GPU");
  CHECK(error_of("\"a quarter\"").allowed.starts_with("a part of a device"));
  for (const char* json : {"true", "null", "[1]", "{}", R"({"count": 0})", R"({"count": 1.5})", R"({"count": "2"})",
                           R"({"count": 1, "memory": "1GiB"})", R"({"size": 1})", "\"nan\"", "\"inf\"", "\"0x1\"",
                           "\".5\"", "\"1.\"", "\" 1\""}) {
    CAPTURE(std::string(json));
    CHECK(error_of(json).code == Code::kInvalid);
  }
}

TEST_CASE("memory has a unit and bounds") {
  CHECK(read_memory(Json("16GiB"), "m").value() == gibibytes(16));
  CHECK(read_memory(number("1073741824"), "m").value() == gibibytes(1));
  CHECK(read_memory(number("20"), "m").error().to_do == "write a unit: KiB, MiB, GiB or TiB");
  CHECK(read_memory(Json("65TiB"), "m").error().message == "is too large");
  CHECK(read_memory(Json("-1GiB"), "m").error().message == "is negative");
  CHECK(read_memory(Json("lots"), "m").error().message == "is no amount of memory");
  CHECK_FALSE(read_memory(Json(true), "m"));
}

}  // namespace moulin
