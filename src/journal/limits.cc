#include "journal/limits.h"

namespace moulin {

Status check_sizes(const std::vector<JournalRecord>& records) {
  for (const JournalRecord& record : records) {
    const Bytes size{static_cast<int64_t>(record.bytes.size())};
    if (size <= kRecordBytesMax) continue;
    return Error{.code = Code::kTooLarge,
                 .message = "a journal record is too large",
                 .given = to_text(size),
                 .allowed = "at most " + to_text(kRecordBytesMax)};
  }
  return {};
}

}  // namespace moulin
