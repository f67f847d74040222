#include "server/recovery.h"

#include "base/codec.h"

namespace moulin {

namespace {

// A snapshot that cannot be read is as good as none: the journal has everything.
Result<State> newest_snapshot(const Journal& journal) {
  std::optional<Snapshot> snapshot = TRY(journal.load_snapshot(kSnapshotFormat));
  if (!snapshot) return State{};
  Result<State> state = decode<State>(snapshot->bytes);
  if (state && state->sequence == snapshot->sequence) return state;
  return State{};
}

}  // namespace

Result<Core> recover_core(const Journal& journal) {
  State state = TRY(newest_snapshot(journal));
  // Only the state is folded here; index and agenda are built once from the result.
  TRY(journal.replay(state.sequence, [&](const StoredRecord& record) -> Status {
    Result<Event> event = decode_event(record.time, record.type, record.bytes);
    if (!event) {
      event.error().message += ", record " + std::to_string(record.sequence.value);
      return event.error();
    }
    apply(state, *event);
    if (state.sequence == record.sequence) return {};
    return Error{.code = Code::kInternal,
                 .message = "record " + std::to_string(record.sequence.value) + " is out of order"};
  }));
  return Core(std::move(state));
}

Snapshot snapshot_of(const State& state) {
  return {.sequence = state.sequence, .format = kSnapshotFormat, .bytes = encode(state)};
}

}  // namespace moulin
