// Finds the records of a history query by the postings of full blocks and, after the
// last full block, by looking at each record.
#pragma once

#include "boundary/journal.h"
#include "journal/reader.h"
#include "journal/sqlite.h"

namespace moulin {

inline constexpr int32_t kHistoryLimitMax = 10'000;
inline constexpr size_t kHistoryTypesMax = 64;

// kInvalid: limit or number of types out of range, or a negative `after`.
Status check_query(const HistoryQuery& query);

// Whether a record that has the right position is also about the right things.
bool matches(const HistoryQuery& query, const StoredRecord& record);

// Runs a checked query inside the connection's read transaction. Cost: one look-up a
// record returned, plus at most kBlockRecords rows of the open block; a workload query
// with types also looks at the workload's records of other types.
Status query_history(sqlite::Connection& connection, const HistoryQuery& query, const RecordVisitor& visit);

}  // namespace moulin
