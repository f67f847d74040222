// What the shim is told: the launch file of an attempt folder.
//
// The engine writes it (mode 0600, atomically) before it starts the shim; record.h says
// how.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/share.h"

namespace moulin {

// How a process tree is held together, strongest first. See containment.h.
enum class ContainmentKind { kCgroup, kPidNamespace, kSubreaper };
template <>
inline constexpr auto kWords<ContainmentKind> =
    std::to_array<std::string_view>({"cgroup", "pid_namespace", "subreaper"});

// 0: no limit. They hold for the program and all its descendants together.
struct ShimLimits {
  CpuMilli cpu{};
  Bytes memory{};
  int64_t tasks = 0;  // threads
  Bytes log{};        // kept per stream; the oldest file is dropped
  bool operator==(const ShimLimits&) const = default;

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "cpu", self.cpu);
    visit(2, "memory", self.memory);
    visit(3, "tasks", self.tasks);
    visit(4, "log", self.log);
  }
};

struct ShimLaunch {
  std::string token{};                      // proves who may speak on the control socket
  std::vector<std::string> argv{};          // not empty; argv[0] is looked up in PATH of `environment`
  std::vector<std::string> environment{};   // "NAME=value"; complete, nothing is inherited
  std::string working_folder{};             // absolute
  std::string account{};                    // Unix account to switch to; empty: none
  std::string checkpoint_file{};            // absolute; replaced by the program
  ShimLimits limits{};
  ContainmentKind containment = ContainmentKind::kSubreaper;
  std::string cgroup{};                     // absolute path of the cgroup to make; only with kCgroup
  Duration usage_interval = seconds(60);    // between pushes of usage; 1 s to 1 h
  std::string account_folder{};             // absolute; given to the account; empty: none
  bool operator==(const ShimLaunch&) const = default;

  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "token", self.token);
    visit(2, "argv", self.argv);
    visit(3, "environment", self.environment);
    visit(4, "working_folder", self.working_folder);
    visit(5, "account", self.account);
    visit(6, "checkpoint_file", self.checkpoint_file);
    visit(7, "limits", self.limits);
    visit(8, "containment", self.containment);
    visit(9, "cgroup", self.cgroup);
    visit(10, "usage_interval", self.usage_interval);
    visit(11, "account_folder", self.account_folder);
  }
};

inline constexpr Bytes kLaunchBytesMax = mebibytes(8);

std::string encode_launch(const ShimLaunch& launch);
// kInvalid: no launch file, or damaged. kRefused: of a version that this binary does
// not know. Also checks that argv is not empty and that no text holds a NUL byte.
Result<ShimLaunch> decode_launch(std::string_view bytes);

// The files of an attempt folder. `exchange` holds what the program may touch.
namespace attempt_files {
inline constexpr const char* kLaunch = "launch";
inline constexpr const char* kIdentity = "identity";  // ShimIdentity, written before the program starts
inline constexpr const char* kStatus = "status";      // ShimState of the end, written once, durable
inline constexpr const char* kLock = "lock";          // flock held exactly as long as the shim lives
inline constexpr const char* kSocket = "control.sock";
inline constexpr const char* kShimLog = "shim.log";   // what the shim itself had to say
inline constexpr const char* kExchange = "exchange";
inline constexpr const char* kFlag = "flag";              // in exchange, as are those below
inline constexpr const char* kCheckpoint = "checkpoint";  // unless the workload names a file
inline constexpr const char* kDone = "done";
inline constexpr const char* kActivity = "activity";
}  // namespace attempt_files

// Descriptors that the engine hands to the shim.
inline constexpr int kLockDescriptor = 3;
inline constexpr int kListenDescriptor = 4;

}  // namespace moulin
