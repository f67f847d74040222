// layers: base model api
// The body of each kind of request: the first byte says which. What is read is written so
// that it is read as the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/route.h"
#include "api/wire_types.h"
#include "base/check.h"

namespace {

using namespace moulin;

template <class Body>
void check(const std::string& text) {
  Request request{.method = Method::kPost, .headers = {{"content-type", "application/json"}}, .body = text};
  Result<Body> body = wire::read_body<Body>(request);
  if (!body) {
    MOULIN_CHECK(!body.error().message.empty(), "a refusal says why");
    return;
  }
  std::string first = write_json(wire::write(*body));
  request.body = first;
  Result<Body> again = wire::read_body<Body>(request);
  MOULIN_CHECK(again.has_value(), "what was written can be read");
  MOULIN_CHECK(write_json(wire::write(*again)) == first, "and is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0: check<wire::Submission>(text); break;
    case 1: check<wire::NewTreeNode>(text); break;
    case 2: check<wire::QuotaChange>(text); break;
    case 3: check<wire::NewUser>(text); break;
    case 4: check<wire::NewToken>(text); break;
    case 5: check<wire::NewBinding>(text); break;
  }
  return 0;
}
