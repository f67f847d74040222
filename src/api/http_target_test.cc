#include "api/http_target.h"

#include <doctest/doctest.h>

namespace moulin {
namespace {

using Names = std::vector<std::string>;

Code code_of(const Result<Target>& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

}  // namespace

TEST_CASE("a target is split and decoded piece by piece") {
  const Result<Target> target = parse_target("/api/v1/workloads/w%2D1?state=running&tag=a%3Db&name=x+y&flag", "");
  REQUIRE(target.has_value());
  CHECK(target->segments == Names{"api", "v1", "workloads", "w-1"});
  CHECK(target->query == std::vector<QueryItem>{{"state", "running"}, {"tag", "a=b"}, {"name", "x y"}, {"flag", ""}});
  CHECK(parse_target("/", "")->segments.empty());
  CHECK(parse_target("/nodes/", "")->segments == Names{"nodes"});
  CHECK(parse_target("/caf%C3%A9", "")->segments == Names{"café"});
  CHECK(parse_target("/a+b", "")->segments == Names{"a+b"});
}

TEST_CASE("paths that step through folders, hide slashes or are no text are refused") {
  for (const char* target : {"/api/../etc",
                             "/api/%2e%2e/etc",
                             "/api/%2E./x",
                             "/./api",
                             "/%2e",
                             "/a%2fb",
                             "/a//b",
                             "//a",
                             "/a%00b",
                             "/a%0d%0ab",
                             "/a%7f",
                             "/%ff",
                             "/%c0%ae%c0%ae/",
                             "/%ed%a0%80",
                             "/%",
                             "/%4",
                             "/%zz",
                             "/%4g",
                             "nodes",
                             "",
                             "*",
                             "http://evil/",
                             "/a#b",
                             "/x?a=%00",
                             "/x?a=%ff",
                             "/x?%0a=1"}) {
    CAPTURE(target);
    CHECK(code_of(parse_target(target, "")) == Code::kInvalid);
  }
}

TEST_CASE("the number of segments and parameters is bounded") {
  std::string deep;
  for (size_t i = 0; i < kSegmentsMax; ++i) deep += "/a";
  CHECK(parse_target(deep, "").has_value());
  CHECK(code_of(parse_target(deep + "/a", "")) == Code::kInvalid);
  std::string wide = "/x?a=1";
  for (size_t i = 1; i < kQueryItemsMax; ++i) wide += "&a=1";
  CHECK(parse_target(wide, "").has_value());
  CHECK(code_of(parse_target(wide + "&a=1", "")) == Code::kInvalid);
}

TEST_CASE("a base path is taken off whole, or the target lies outside") {
  CHECK(parse_target("/moulin/api", "/moulin")->segments == Names{"api"});
  CHECK(parse_target("/moulin", "/moulin")->segments.empty());
  CHECK(code_of(parse_target("/moulinette/api", "/moulin")) == Code::kNotFound);
  CHECK(code_of(parse_target("/api", "/moulin")) == Code::kNotFound);
  CHECK(*parse_base_path("moulin/") == "/moulin");
  CHECK(*parse_base_path("/a//b/") == "/a/b");
  CHECK(parse_base_path("/")->empty());
  CHECK_FALSE(parse_base_path("/a b").has_value());
  CHECK_FALSE(parse_base_path("/..").has_value());
}

TEST_CASE("encoding and decoding are inverse") {
  std::string all;
  for (int c = 1; c < 128; ++c) all.push_back(static_cast<char>(c));
  all += "é€😀";
  CHECK(*decode_percent(encode_percent(all), Plus::kIsSpace) == all);
  CHECK(*decode_percent(encode_percent(all), Plus::kKept) == all);
}

TEST_CASE("hosts are read with and without port, and in brackets") {
  CHECK(*parse_host("LocalHost:8080") == HostAndPort{"localhost", 8080});
  CHECK(*parse_host("127.0.0.1") == HostAndPort{"127.0.0.1", std::nullopt});
  CHECK(*parse_host("[::1]:80") == HostAndPort{"::1", 80});
  for (const char* host :
       {"", ":80", "a b", "a:b", "a:", "a:99999", "a:-1", "[::1", "[]", "[::1]80", "[g]", "a/b", "a@b", "é"}) {
    CAPTURE(host);
    CHECK_FALSE(parse_host(host).has_value());
  }
}

TEST_CASE("only loopback names and configured ones are ours") {
  const HostPolicy policy{.names = {"moulin.example"}};
  for (const char* host : {"localhost", "localhost:1", "127.0.0.1:9", "127.1.2.3", "[::1]", "moulin.example:8080"}) {
    CAPTURE(host);
    CHECK(check_host({{"host", host}}, policy).has_value());
  }
  for (const char* host :
       {"evil.example", "127.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil", "[::2]"}) {
    CAPTURE(host);
    const Status status = check_host({{"host", host}}, policy);
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().code == Code::kForbidden);
    CHECK(status.error().given == host);
  }
  CHECK(check_host({}, policy).error().code == Code::kInvalid);
  CHECK(check_host({{"host", "localhost"}, {"host", "localhost"}}, policy).error().code == Code::kInvalid);
}

TEST_CASE("an origin must be the very host and port that was asked") {
  const auto passes = [](const char* origin) {
    return check_origin({{"host", "localhost:8080"}, {"origin", origin}}, {}).has_value();
  };
  CHECK(passes("http://localhost:8080"));
  CHECK(passes("https://LOCALHOST:8080"));
  CHECK_FALSE(passes("http://localhost:8888"));  // a notebook's page on another port
  CHECK_FALSE(passes("http://localhost"));
  CHECK_FALSE(passes("http://127.0.0.1:8080"));
  CHECK_FALSE(passes("http://evil.example"));
  CHECK_FALSE(passes("null"));
  CHECK_FALSE(passes(""));
  CHECK_FALSE(passes("file://"));
  CHECK(check_origin({{"host", "localhost:8080"}}, {}).has_value());
}

}  // namespace moulin
