#include "server/byte_budget.h"

namespace moulin {

Result<ByteBudget::Lease> ByteBudget::take(Bytes bytes) {
  int64_t before = held_.fetch_add(bytes.count);
  if (before > 0 && before + bytes.count > most_.count) {
    held_ -= bytes.count;
    return Error{.code = Code::kTooMany,
                 .message = "too many large requests are in work",
                 .given = to_text(bytes),
                 .allowed = to_text(most_) + " at a time",
                 .to_do = "try again in a second"};
  }
  return Lease(nullptr, [this, bytes](void*) { held_ -= bytes.count; });
}

}  // namespace moulin
