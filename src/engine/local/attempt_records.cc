#include "engine/local/attempt_records.h"

#include "shim/exchange.h"
#include "shim/files.h"
#include "shim/record.h"

namespace moulin {
namespace {

constexpr Bytes kRecordFileMax = mebibytes(8);
constexpr std::string_view kEngineKind = "engine";

template <class T>
Result<T> read_record(const Fd& folder, const char* file, std::string_view kind) {
  std::string bytes = TRY(read_file_in(folder, file, kRecordFileMax));
  return decode_record<T>(kind, bytes);
}

}  // namespace

bool is_of(const EngineRecord& record, const Installation& installation) {
  return record.installation.empty() ? installation.claims_unmarked : record.installation == installation.id;
}

Status write_engine_record(const Fd& folder, const EngineRecord& record) {
  return write_atomically(folder, kEngineFile, encode_record(kEngineKind, record), Durability::kProcess);
}

Result<EngineRecord> read_engine_record(const Fd& folder) {
  return read_record<EngineRecord>(folder, kEngineFile, kEngineKind);
}

Result<ShimIdentity> read_identity(const Fd& folder) {
  return read_record<ShimIdentity>(folder, attempt_files::kIdentity, kIdentityKind);
}

Result<ShimState> read_status(const Fd& folder) {
  return read_record<ShimState>(folder, attempt_files::kStatus, kStatusKind);
}

bool has_ended(const Fd& folder) { return exists_in(folder, attempt_files::kStatus); }

bool has_run(const Fd& folder) { return has_ended(folder) || exists_in(folder, attempt_files::kIdentity); }

}  // namespace moulin
