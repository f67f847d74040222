// Commands that somebody runs beside the program of a replica: `moulin exec`.
//
// Each belongs to one client of the control socket, gets a terminal or three pipes, is a
// child of the guard like the program, and ends with it. When its client goes, its process
// group gets SIGHUP, its input ends, and what it says about that is read and thrown away; it
// counts until it has ended. What flows is bounded: who reads slowly makes the command wait, and
// a command that does not read makes its client wait.
#pragma once

#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "shim/control_socket.h"
#include "shim/fd.h"
#include "shim/guard.h"
#include "shim/launch.h"

namespace moulin {

// Never blocks. Not thread-safe.
class ExecSessions {
 public:
  explicit ExecSessions(ControlSocket& control) : control_(control) {}

  // What a command runs in, while the program runs.
  struct Place {
    const Guard& guard;
    const ShimLaunch& launch;  // of the program
    const std::optional<Account>& account;
  };
  // A client's message; without a place every command is refused.
  void take(const ExecMessage& message, const std::optional<Place>& place);
  void client_gone(int64_t client, const Guard& guard);
  // The guard has seen the end of a command, perhaps because the program has ended.
  enum class Beside { kProgram, kNothing };
  void ended(const GuardNote& note, Beside beside);
  // The replica has ended, and so have they.
  void end_all();

  void add_to(std::vector<pollfd>& waits) const;
  // Moves what can be moved now.
  void pump();

  static constexpr size_t kSessionsMax = 8;
  static constexpr size_t kWaitingMax = 256 << 10;  // bytes each way before the other side must wait
  static constexpr size_t kPieceMax = 16 << 10;

 private:
  struct Session {
    int64_t client = 0;  // kNobody: it has gone
    int32_t number = 0;
    ShimLaunch launch{};  // for the sentence when it cannot be started
    Fd in{};              // -1 once closed
    Fd out{};
    Fd err{};
    bool terminal = false;  // in and out are its master
    Fd failure{};
    std::string input{};  // not yet taken by the command
    bool input_over = false;
    size_t unheard = 0;  // bytes that it said when its client had gone
    std::optional<ExecEnd> end{};
  };
  static constexpr int64_t kNobody = -1;
  void begin(int64_t client, const ExecRequest& request, const std::optional<Place>& place);
  static Status start(Session& session, const ExecRequest& request, const Place& place);
  void refuse(int64_t client, std::string error);
  Session* find(int64_t client);
  void write_input(Session& session);
  void read_output(Session& session, Fd& from, MessageKind kind);
  void take_failure(Session& session);
  bool may_send(const Session& session) const { return control_.unsent(session.client) < kWaitingMax; }

  ControlSocket& control_;
  std::list<Session> sessions_;
  int32_t next_number_ = 1;
};

}  // namespace moulin
