// Streams that outlive the server: they go on where they broke off.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/session.h"

namespace moulin::cli {

struct FollowOptions {
  enum class WhenBroken { kFail, kGoOn };
  WhenBroken when_broken = WhenBroken::kGoOn;
  Interrupts* interrupts = nullptr;     // kWoken when one comes; nullptr: they end the program
  std::function<bool()> is_complete{};  // asked when a stream ended in good order: was it the whole?
};

// How long a follower tries to reach a server that has gone, and its longest pause.
inline constexpr Duration kReconnectTime = minutes(5);
inline constexpr Duration kReconnectPauseMax = seconds(2);

// Makes a call of the operation whose stream it reads, to go on after an event.
using StreamCall = std::function<HttpCall(const std::optional<std::string>& last_event_id)>;

// Hands on the events until `on_event` stops it (kStopped), an interrupt comes (kWoken) or
// it is complete (kFinished). A stream that breaks off is asked for again behind its last
// event, for up to kReconnectTime without a new one; with kFail that is the end.
Result<StreamEnd> follow_stream(Session& session, const StreamCall& call, FollowOptions options,
                                const std::function<Flow(const StreamEvent&)>& on_event);

// What a reader of logs is told.
struct LogListener {
  std::function<void(const wire::LogLine&)> on_line;
  std::function<void(const wire::LogState&)> on_state;  // also the last one
};

// Reads logs until their end: the workload has finished, or without `follow` what there
// was is read. The last state, or nothing when an interrupt came first.
Result<std::optional<wire::LogState>> follow_logs(Session& session, wire::ReadWorkloadLogs wanted,
                                                  FollowOptions options, const LogListener& listener);

// The exit status that stands for how a workload ended: its own exit code, 128 and the
// signal, 0 for success, else 1.
int exit_status_of(const wire::LogState& end);

}  // namespace moulin::cli
