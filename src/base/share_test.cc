#include "base/share.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/rng.h"
#include "base/text.h"

namespace moulin {
namespace {

const std::string_view kNoNumbers[] = {"",   "-1", "+1",  "1e3", "1,5", ".5", "5.",    "1.2.3", "0x10",
                                       " 1", "1 ", "one", "NaN", "inf", ".",  "1_000", "١",     "1.2345"};

}  // namespace

TEST_CASE("thousandths are read exactly") {
  CHECK(*parse_milli("0") == 0);
  CHECK(*parse_milli("0.25") == 250);
  CHECK(*parse_milli("0.001") == 1);
  CHECK(*parse_milli("2") == 2000);
  CHECK(*parse_milli("2.000") == 2000);
  CHECK(*parse_milli("0.1") == 100);  // through a double it would be 99 or 100
  CHECK(*parse_milli("007") == 7000);
  CHECK(*parse_milli("1000000000") == 1'000'000'000'000);
  for (std::string_view text : kNoNumbers) {
    CAPTURE(text);
    CHECK_FALSE(parse_milli(text));
  }
  CHECK_FALSE(parse_milli("1000000000.001"));
  CHECK_FALSE(parse_milli("9223372036854775807"));
  CHECK_FALSE(parse_milli(std::string(1000, '9')));
  CHECK_FALSE(parse_milli(std::string_view("1\0", 2)));
}

TEST_CASE("CPU in cores or in thousandths") {
  CHECK(*parse_cpu("4") == CpuMilli{4000});
  CHECK(*parse_cpu("0.5") == CpuMilli{500});
  CHECK(*parse_cpu("500m") == CpuMilli{500});
  CHECK(*parse_cpu("1000000000000m") == CpuMilli{1'000'000'000'000});
  for (std::string_view text : {"m", "0.5m", "-5m", "5mm", "5M", "5 m", "1000000000001m", "4cpu"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_cpu(text));
  }
}

TEST_CASE("bytes with binary and decimal units") {
  CHECK(*parse_bytes("1024") == Bytes{1024});
  CHECK(*parse_bytes("1024B") == Bytes{1024});
  CHECK(*parse_bytes("1KiB") == kibibytes(1));
  CHECK(*parse_bytes("512MiB") == mebibytes(512));
  CHECK(*parse_bytes("1.5GiB") == Bytes{3 * (int64_t{1} << 29)});
  CHECK(*parse_bytes("80GB") == Bytes{80'000'000'000});
  CHECK(*parse_bytes("2kB") == Bytes{2000});
  CHECK(*parse_bytes("1TB") == Bytes{1'000'000'000'000});
  CHECK(*parse_bytes("0") == Bytes{0});
  CHECK(*parse_bytes("1048576TiB") == Bytes{int64_t{1} << 60});
  CHECK(*parse_bytes("1152921504606846976") == Bytes{int64_t{1} << 60});
}

TEST_CASE("what is not an amount of memory is refused") {
  for (std::string_view text : kNoNumbers) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text));
    CHECK_FALSE(parse_bytes(std::string(text) + "GiB"));
  }
  for (std::string_view text : {"GiB", "1 GiB", "1gib", "1G", "1KB", "1GiBB", "1BGiB", "1048577TiB",
                                "1152921504606846977", "9223372036854775808B"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text));
  }
}

TEST_CASE("a fraction of a byte is refused, because a unit was forgotten") {
  CHECK_FALSE(parse_bytes("1.5"));
  CHECK_FALSE(parse_bytes("1.5B"));
  CHECK_FALSE(parse_bytes("2.0"));
  CHECK(*parse_bytes("0.001KiB") == Bytes{1});
}

TEST_CASE("amounts in words") {
  CHECK(to_text(Share{250}) == "0.25");
  CHECK(to_text(Share{2000}) == "2");
  CHECK(to_text(Share{-1}) == "-0.001");
  CHECK(to_text(Share{INT64_MIN}) == "-9223372036854775.808");
  CHECK(to_text(CpuMilli{500}) == "0.5");
  CHECK(to_text(gibibytes(20)) == "20GiB");
  CHECK(to_text(mebibytes(1536)) == "1.5GiB");
  CHECK(to_text(Bytes{0}) == "0B");
  CHECK(to_text(Bytes{1025}) == "1025B");
  CHECK(to_text(Bytes{-5}) == "-5B");
}

TEST_CASE("every amount is read back as itself") {
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    int64_t value = rng.between(0, (int64_t{1} << 60) >> rng.below(60));
    CAPTURE(value);
    CHECK(*parse_bytes(to_text(Bytes{value})) == Bytes{value});
    int64_t milli = value % 1'000'000'000'001;
    CHECK(*parse_milli(to_text(Share{milli})) == milli);
    CHECK(*parse_cpu(to_text(CpuMilli{milli})) == CpuMilli{milli});
  }
}

TEST_CASE("the given text in an error is short and still well-formed") {
  std::string long_text;
  for (int i = 0; i < 300; ++i) long_text += "é";
  for (const std::string& given : {parse_milli("x" + long_text).error().given, parse_cpu("x" + long_text).error().given,
                                   parse_bytes(long_text).error().given}) {
    CHECK(given.size() <= 203);
    CHECK(is_utf8(given));
  }
}

TEST_CASE("amounts add, subtract, multiply and compare by their count") {
  CHECK(Share{250} + Share{750} == kWholeDevice);
  CHECK(Bytes{5} - Bytes{7} == Bytes{-2});
  CHECK(CpuMilli{500} * 3 == CpuMilli{1500});
  CHECK(std::max(gibibytes(1), mebibytes(1025)) == mebibytes(1025));
}

}  // namespace moulin
