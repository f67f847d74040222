// What is said on the control socket between a shim and whoever steers it.
//
// A stream of frames, each a 4-byte little-endian length and that many bytes, which hold
// one byte for the kind and then a struct in the encoding of base/codec.h. See
// docs/shim_protocol.md for the order of messages. Nothing refers to a file: all facts
// travel in the messages, so that the same protocol can run over a network.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "base/enum_text.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"
#include "shim/launch.h"
#include "shim/process_info.h"

namespace moulin {

// Both sides speak this version and the one before. The steering side offers its newest,
// the shim answers with the smaller of the two.
inline constexpr int64_t kShimProtocolVersion = 2;
inline constexpr int64_t kShimProtocolVersionMin = 1;
inline constexpr int64_t kExecVersion = 2;  // the first that knows kExec
inline constexpr size_t kFrameBytesMax = 1 << 20;

// Why a program is asked to end, weakest first. Written to the flag file.
enum class ShimEndReason { kPause, kPreempt, kStop, kKill };
template <>
inline constexpr auto kWords<ShimEndReason> = std::to_array<std::string_view>({"pause", "preempt", "stop", "kill"});

enum class MessageKind : uint8_t {
  // to the shim
  kHello = 1,    // Hello; the first message, once
  kEnd = 2,      // EndOrder
  kAsk = 3,      // empty: send the state
  kSeen = 4,     // Seen: this many checkpoints are known to the server
  kRelease = 5,  // empty: the end is known to the server, the shim may go
  kExec = 6,     // ExecRequest; from then on this connection belongs to that command
  kInput = 7,    // bytes for the command's standard input; none: that was all
  kResize = 8,   // TerminalSize
  kSignal = 9,   // ExecSignal
  // from the shim
  kWelcome = 16,    // Welcome
  kRefused = 17,    // Refused; then the connection is closed
  kState = 18,      // ShimState; after the welcome, when asked, and whenever a fact changes
  kOutput = 19,     // of the command: its standard output, or its terminal
  kErrors = 20,     // of the command: its standard error
  kExecEnded = 21,  // ExecEnd; then the connection is closed
};

struct Hello {
  int64_t version = kShimProtocolVersion;
  std::string token{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "version", self.version);
    visit(2, "token", self.token);
  }
};

struct Welcome {
  int64_t version = kShimProtocolVersion;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "version", self.version);
  }
};

struct Refused {
  std::string reason{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "reason", self.reason);
  }
};

struct EndOrder {
  ShimEndReason reason = ShimEndReason::kKill;
  Duration grace{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "reason", self.reason);
    visit(2, "grace", self.grace);
  }
};

// In characters. Terminals know no more than 65,535 each way.
struct TerminalSize {
  int32_t rows = 24;
  int32_t columns = 80;
  bool operator==(const TerminalSize&) const = default;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "rows", self.rows);
    visit(2, "columns", self.columns);
  }
};

// Runs beside the program: same account, folder, environment, containment and limits.
struct ExecRequest {
  std::vector<std::string> argv{};
  std::optional<TerminalSize> terminal{};  // it gets a terminal of its own; else three pipes
  std::string term{};                      // TERM of that terminal; empty: as the program
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "argv", self.argv);
    visit(2, "terminal", self.terminal);
    visit(3, "term", self.term);
  }
};

struct ExecSignal {
  int32_t number = 0;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "number", self.number);
  }
};

// How a command ended. Neither code nor signal: it could not be started, or the replica
// ended first; `error` is then a sentence for a person.
struct ExecEnd {
  std::optional<int32_t> code{};
  std::optional<int32_t> signal{};
  std::string error{};
  bool operator==(const ExecEnd&) const = default;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "code", self.code);
    visit(2, "signal", self.signal);
    visit(3, "error", self.error);
  }
};

inline constexpr size_t kNoteBytesMax = 4096;
struct Seen {
  int64_t checkpoints = 0;
  std::string note{};  // kept by the shim for a later server; at most kNoteBytesMax
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "checkpoints", self.checkpoints);
    visit(2, "note", self.note);
  }
};

// What the tree has used so far.
struct ShimUsage {
  Duration wall{};         // since the program started, until `ShimState::at`
  Duration cpu{};
  Bytes memory_peak{};
  Duration declared{};     // wall time x the activity that the program wrote, while it did
  Duration declared_wall{};  // wall time during which an activity file was there
  std::vector<int64_t> pids{};  // of the tree, at most kUsagePidsMax
  bool operator==(const ShimUsage&) const = default;

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "wall", self.wall);
    visit(2, "cpu", self.cpu);
    visit(3, "memory_peak", self.memory_peak);
    visit(4, "declared", self.declared);
    visit(5, "declared_wall", self.declared_wall);
    visit(6, "pids", self.pids);
  }
};
inline constexpr size_t kUsagePidsMax = 1024;

// How the program ended. Exactly one of code, signal and error is set; error also stands
// beside a code or signal when limit_hit.
struct ShimExit {
  std::optional<int32_t> code{};
  std::optional<int32_t> signal{};
  std::string error{};      // could not be started, or crossed a limit: a sentence for a person
  bool limit_hit = false;
  bool done_file = false;
  bool operator==(const ShimExit&) const = default;

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "code", self.code);
    visit(2, "signal", self.signal);
    visit(3, "error", self.error);
    visit(4, "limit_hit", self.limit_hit);
    visit(5, "done_file", self.done_file);
  }
};

// All that a shim knows. Later states replace earlier ones; nothing is lost when some
// are missed.
struct ShimState {
  Instant at{};                  // CLOCK_BOOTTIME
  bool started = false;          // the program's first instruction has run
  int64_t pid = 0;               // of the program; 0 before the start
  ContainmentKind containment = ContainmentKind::kSubreaper;
  int64_t checkpoints = 0;       // acknowledged by the program so far
  int64_t checkpoints_seen = 0;  // the most that a Seen named
  std::optional<ShimEndReason> ending{};
  ShimUsage usage{};
  std::optional<ShimExit> exit{};  // set when no process of the tree is left
  int64_t log_bytes_dropped = 0;   // output that could not be written
  std::string note{};              // of the last Seen
  bool operator==(const ShimState&) const = default;

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "at", self.at);
    visit(2, "started", self.started);
    visit(3, "pid", self.pid);
    visit(4, "containment", self.containment);
    visit(5, "checkpoints", self.checkpoints);
    visit(6, "checkpoints_seen", self.checkpoints_seen);
    visit(7, "ending", self.ending);
    visit(8, "usage", self.usage);
    visit(9, "exit", self.exit);
    visit(10, "log_bytes_dropped", self.log_bytes_dropped);
    visit(11, "note", self.note);
  }
};

// Who the shim is; for what is left when it was killed. A file, never a message.
struct ShimIdentity {
  ProcessIdentity shim{};
  ProcessIdentity guard{};
  ContainmentKind containment = ContainmentKind::kSubreaper;
  std::string cgroup{};  // absolute; empty when there is none
  std::string mark{};    // value of MOULIN_MARK in the environment of the tree

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "shim", self.shim);
    visit(2, "guard", self.guard);
    visit(3, "containment", self.containment);
    visit(4, "cgroup", self.cgroup);
    visit(5, "mark", self.mark);
  }
};

// Kinds of the files that hold a ShimState and a ShimIdentity (record.h).
inline constexpr std::string_view kStatusKind = "status";
inline constexpr std::string_view kIdentityKind = "identity";

struct Message {
  MessageKind kind = MessageKind::kAsk;
  std::string body{};
};

std::string frame(MessageKind kind, std::string_view body = {});
template <class T>
std::string frame_of(MessageKind kind, const T& value) { return frame(kind, encode(value)); }

// Cuts a stream into messages. After an error it gives no more.
class FrameReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  // The next whole message, or nothing yet. kTooLarge above kFrameBytesMax; kInvalid
  // when a frame is empty.
  Result<std::optional<Message>> next();

 private:
  std::string buffer_;
};

// Compares in a time that depends only on the lengths.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace moulin
