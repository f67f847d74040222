// Lists that come in pages.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "cli/session.h"

namespace moulin::cli {

inline constexpr int64_t kItemsOfPageMax = 1000;  // that the server gives at once
inline constexpr int64_t kItemsMax = 100'000;     // that we ask for
inline constexpr OptionSpec kLimitOption{
    .name = "limit", .letter = 'n', .value = "N", .help = "at most so many (1000 unless given)"};

// The value of --limit, which the verb must have.
inline Result<int64_t> wanted_items(const Call& call) {
  const std::string* text = call.value("limit");
  if (text == nullptr) return kItemsOfPageMax;
  int64_t limit = TRY(parse_integer("--limit", *text));
  if (limit >= 1 && limit <= kItemsMax) return limit;
  return Error{.code = Code::kInvalid,
               .message = "is out of range",
               .field = "--limit",
               .given = *text,
               .allowed = "1 to 100000"};
}

// One answer made of as many pages as `left` items take.
template <class Operation>
Result<typename Operation::Answer> pages_of(Session& session, Operation operation, int64_t left) {
  operation.limit = std::min(left, kItemsOfPageMax);
  typename Operation::Answer all = TRY(session.ask(operation));
  left -= static_cast<int64_t>(all.items.size());
  // Each round takes at least one item, so there are at most kItemsMax of them.
  while (all.next && left > 0) {
    operation.cursor = all.next;
    operation.limit = std::min(left, kItemsOfPageMax);
    typename Operation::Answer page = TRY(session.ask(operation));
    if (page.items.empty()) break;
    left -= static_cast<int64_t>(page.items.size());
    std::move(page.items.begin(), page.items.end(), std::back_inserter(all.items));
    all.next = std::move(page.next);
  }
  return all;
}

// The same for as many as --limit wants.
template <class Operation>
Result<typename Operation::Answer> all_pages(Session& session, Operation operation) {
  return pages_of(session, std::move(operation), TRY(wanted_items(session.call())));
}

}  // namespace moulin::cli
