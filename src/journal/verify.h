// `moulin journal verify`: everything about a journal that can be checked without a
// server, and without writing to it. Works beside a running server too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "boundary/journal.h"

namespace moulin {

inline constexpr size_t kProblemsMax = 100;

struct SnapshotFinding {
  Sequence sequence;
  int32_t format = 0;
  std::string problem;  // empty: good. A bad snapshot is skipped, and costs only time.
};

struct VerifyReport {
  Sequence last;
  int64_t records = 0;  // that were read
  Bytes payload{};
  std::map<int32_t, int64_t> by_type{};  // how many of each type
  int64_t format = 0;
  std::string written_by;
  std::vector<SnapshotFinding> snapshots;  // newest first
  // What is wrong, in order, for a person; at most kProblemsMax, then one line that
  // says so. Empty: the journal is whole.
  std::vector<std::string> problems;
  bool good() const { return problems.empty(); }
};

// Reads all records and checks: the pages of the file, the chain, gaps, the history
// index, the mark and the snapshots. Cost: about two seconds for a million records.
// kNotFound: no journal there. kRefused: of a newer Moulin, or some other database.
Result<VerifyReport> verify_journal(const std::string& path);

}  // namespace moulin
