#include "server/byte_budget.h"

#include <doctest/doctest.h>

namespace moulin {

TEST_CASE("a budget is refused while others hold it, and given back by the last holder") {
  ByteBudget budget({100});
  Result<ByteBudget::Lease> first = budget.take({60});
  REQUIRE(first.has_value());
  Result<ByteBudget::Lease> second = budget.take({41});
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Code::kTooMany);
  CHECK(budget.held() == Bytes{60});
  ByteBudget::Lease copy = *first;
  first->reset();
  CHECK(budget.held() == Bytes{60});
  copy.reset();
  CHECK(budget.held() == Bytes{0});
}

TEST_CASE("what is larger than the budget has it alone") {
  ByteBudget budget({100});
  Result<ByteBudget::Lease> large = budget.take({500});
  REQUIRE(large.has_value());
  CHECK_FALSE(budget.take({1}).has_value());
  large->reset();
  CHECK(budget.take({1}).has_value());
}

}  // namespace moulin
