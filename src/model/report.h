// What engines tell. Reports are facts, never answers: see boundary/engine.h.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/enum_text.h"
#include "base/instant.h"
#include "base/share.h"
#include "model/names.h"

namespace moulin {

struct ReplicaKey {
  WorkloadId workload{};
  AttemptNumber attempt{};
  ReplicaIndex replica{};
  auto operator<=>(const ReplicaKey&) const = default;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "workload", self.workload);
    visit(2, "attempt", self.attempt);
    visit(3, "replica", self.replica);
  }
};

// What a replica has used since it started.
struct Usage {
  Duration cpu{};  // user and system time of all its processes
  Bytes memory_peak{};
  Duration gpu_active{};  // device time that did work, weighted by share
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "cpu", self.cpu);
    visit(2, "memory_peak", self.memory_peak);
    visit(3, "gpu_active", self.gpu_active);
  }
  bool operator==(const Usage&) const = default;
};

// How a replica ended. At most one of code and signal; with neither, `error` says why.
struct Exit {
  std::optional<int32_t> code{};
  std::optional<int32_t> signal{};
  std::string error{};     // a sentence for a person
  bool vanished = false;   // process and status are gone: machine restarted, node lost
  bool limit_hit = false;  // ended for crossing a limit; `error` says which
  bool done_file = false;  // $MOULIN_DONE_FILE exists
  bool clean() const { return code == 0 && !limit_hit; }
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "code", self.code);
    visit(2, "signal", self.signal);
    visit(3, "error", self.error);
    visit(4, "vanished", self.vanished);
    visit(5, "limit_hit", self.limit_hit);
    visit(6, "done_file", self.done_file);
  }
  bool operator==(const Exit&) const = default;
};

// Each carries the attempt token; the core drops those whose token is not the one it gave.
struct ReplicaStarted {
  ReplicaKey key;
  std::string token;
  int64_t pid = 0;
};
struct CheckpointSeen {
  ReplicaKey key;
  std::string token;
};
struct UsageMeasured {
  ReplicaKey key;
  std::string token;
  Usage usage;
};
// The end of a replica with all its children.
struct ReplicaExited {
  ReplicaKey key;
  std::string token;
  Exit exit;
  Usage usage;
};
// A process that carries our mark and that the server does not know.
struct StrangerFound {
  ReplicaKey key;
  std::string token;
  int64_t pid = 0;
};
using EngineReport = std::variant<ReplicaStarted, CheckpointSeen, UsageMeasured, ReplicaExited, StrangerFound>;

}  // namespace moulin
