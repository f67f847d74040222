// Memory that requests in work may take together, so that many large ones are refused
// before it is short.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/share.h"

namespace moulin {

// Thread-safe; outlives its leases.
class ByteBudget {
 public:
  explicit ByteBudget(Bytes most) : most_(most) {}

  // Given back when the last copy is gone.
  using Lease = std::shared_ptr<void>;

  // kTooMany: others hold so much that this does not fit beside them. What is larger than
  // the whole budget fits when it is alone.
  Result<Lease> take(Bytes bytes);

  Bytes held() const { return {held_}; }

 private:
  const Bytes most_;
  std::atomic<int64_t> held_ = 0;
};

}  // namespace moulin
