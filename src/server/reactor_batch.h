// For the parts of the reactor only: what is judged together and becomes durable together.
#pragma once

#include <utility>
#include <vector>

#include "server/reactor.h"

namespace moulin {

struct Reactor::Batch {
  std::vector<JournalRecord> records;
  std::vector<NumberedEvent> events;
  std::vector<Effect> effects;
  std::vector<std::pair<Answer, Result<Events>>> answers;
  std::vector<CommandBody> reports;  // to be judged again should this batch be lost
  PublishedView view;
  bool empty() const { return records.empty() && answers.empty(); }
};

// What clients are told while commands are refused.
inline Error not_writable() {
  return {.code = Code::kUnavailable,
          .message = "the journal cannot be written; nothing was changed",
          .to_do = "free disk space or mend the data folder; Moulin goes on by itself"};
}

}  // namespace moulin
