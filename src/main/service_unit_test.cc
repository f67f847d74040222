#include "main/service_unit.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

namespace moulin {

TEST_CASE("a unit leaves workloads alone and starts what was asked for") {
  Result<std::string> unit = service_unit(
      {.scope = ServiceScope::kSystem, .program = "/usr/bin/moulin", .arguments = {"--data", "/var/lib/moulin"}});
  REQUIRE(unit.has_value());
  for (const char* line : {"\nExecStart=/usr/bin/moulin up --data /var/lib/moulin\n", "\nKillMode=process\n",
                           "\nDelegate=yes\n", "\nOOMPolicy=continue\n", "\nWantedBy=multi-user.target\n"}) {
    CHECK_MESSAGE(unit->contains(line), *unit);
  }
  CHECK(service_unit({.scope = ServiceScope::kUser, .program = "/m"})->contains("\nWantedBy=default.target\n"));
}

TEST_CASE("the unit of the package is the one of a root that names the usual folder") {
  std::ifstream file("packaging/moulin.service");
  std::string packaged{std::istreambuf_iterator<char>(file), {}};
  CHECK(service_unit({.program = "/usr/bin/moulin", .arguments = {"--data", "/var/lib/moulin"}}).value() == packaged);
}

TEST_CASE("words with blanks, quotes, variables and specifiers reach the program as they are") {
  Result<std::string> unit = service_unit({.program = "/opt/my tools/moulin", .arguments = {R"(a"b\c)", "5%$x", ""}});
  REQUIRE(unit.has_value());
  CHECK_MESSAGE(unit->contains(R"(ExecStart="/opt/my tools/moulin" up "a\"b\\c" "5%%$$x" "")"), *unit);
}

TEST_CASE("a line end cannot bring in a setting of its own") {
  Result<std::string> unit = service_unit({.program = "/usr/bin/moulin", .arguments = {"--data", "/x\nUser=root"}});
  REQUIRE_FALSE(unit.has_value());
  CHECK(unit.error().code == Code::kInvalid);
}

}  // namespace moulin
