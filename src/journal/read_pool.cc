#include "journal/read_pool.h"

#include <fmt/format.h>

namespace moulin {

Result<ReadPool::Lease> ReadPool::lease() {
  {
    const std::lock_guard lock(mutex_);
    if (lent_ == kReadersMax) {
      return Error{.code = Code::kTooMany,
                   .message = fmt::format("{} readers are at work on the journal already", kReadersMax),
                   .to_do = "retry in a second"};
    }
    ++lent_;
    if (!idle_.empty()) {
      std::unique_ptr<Reader> reader = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(reader));
    }
  }
  Result<std::unique_ptr<Reader>> opened = Reader::open(location_, number_);
  if (opened) return Lease(*this, std::move(*opened));
  const std::lock_guard lock(mutex_);
  --lent_;
  return std::move(opened).error();
}

void ReadPool::take_back(std::unique_ptr<Reader> reader) {
  const std::lock_guard lock(mutex_);
  --lent_;
  if (idle_.size() < kReadersIdleMax) idle_.push_back(std::move(reader));
}

}  // namespace moulin
