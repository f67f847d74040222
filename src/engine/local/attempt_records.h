// The records in an attempt folder, read back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/local/installation.h"
#include "model/grant.h"
#include "shim/fd.h"
#include "shim/protocol.h"

namespace moulin {

// The engine's own: what a later server must know and the shim need not.
struct EngineRecord {
  std::string token{};
  std::vector<Grant> grants{};
  std::string installation{};  // that started it; empty: before there were ids
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "token", self.token);
    visit(2, "grants", self.grants);
    visit(3, "installation", self.installation);
  }
};
// Was it started from this data folder, and not from the one that this is a copy of?
bool is_of(const EngineRecord& record, const Installation& installation);
inline constexpr const char* kEngineFile = "engine";
Status write_engine_record(const Fd& folder, const EngineRecord& record);
// kNotFound; kInvalid when damaged.
Result<EngineRecord> read_engine_record(const Fd& folder);

// Of the shim, written before its program started. The same errors.
Result<ShimIdentity> read_identity(const Fd& folder);
// Of the shim, written when all was over.
Result<ShimState> read_status(const Fd& folder);

// May a program have run here? False only if certainly none has.
bool has_run(const Fd& folder);
// Is all over, though the shim may not be gone yet?
bool has_ended(const Fd& folder);

}  // namespace moulin
