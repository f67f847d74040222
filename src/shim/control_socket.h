// The shim's end of the control socket: lets in who knows the token, cuts what they say
// into commands, and tells them all every new state.
#pragma once

#include <poll.h>

#include <string>
#include <variant>
#include <vector>

#include "shim/fd.h"
#include "shim/protocol.h"

namespace moulin {

// What a client asked for. Greeted: it has just been let in and needs the state.
struct Greeted {};
struct Asked {};
struct Released {};
// A message about a command beside the program, from kExec to kSignal. Clients have numbers.
struct ExecMessage {
  int64_t client = 0;
  Message message{};
};
// A client that had begun such a command has gone.
struct ExecClientGone {
  int64_t client = 0;
};
using ShimCommand = std::variant<Greeted, Asked, Released, EndOrder, Seen, ExecMessage, ExecClientGone>;

// Never blocks. Not thread-safe. A client that is no process of our own account (or
// root), does not know the token, breaks the protocol or does not read is shut out.
class ControlSocket {
 public:
  // `listener` listens and does not block.
  ControlSocket(Fd listener, std::string token) : listener_(std::move(listener)), token_(std::move(token)) {}

  void add_to(std::vector<pollfd>& waits) const;
  // Accepts, reads and writes what is possible now.
  std::vector<ShimCommand> serve();
  // Sends to everyone who was let in and has not begun a command.
  void push(const ShimState& state);
  bool has_clients() const;

  // To one client; nothing when it is gone.
  void send(int64_t client, std::string_view frame);
  size_t unsent(int64_t client) const;
  // Reads no more from it, until it is let go on: so much waits that its sender must wait too.
  enum class Reading { kOn, kHeld };
  void read_on(int64_t client, Reading reading);
  // Closes when everything is sent.
  void hang_up(int64_t client);

  static constexpr size_t kClientsMax = 16;
  static constexpr size_t kUnsentMax = 4 << 20;

 private:
  struct Client {
    Fd socket;
    FrameReader reader{};
    std::string unsent{};
    int64_t number = 0;
    int64_t version = 0;
    bool greeted = false;
    bool executes = false;  // has begun a command
    bool held = false;
    bool leaving = false;  // closes when all is sent
    bool closing = false;
  };
  Client* find(int64_t number);
  void accept_all();
  void make_room();
  void read_from(Client& client, std::vector<ShimCommand>& commands);
  void take(Client& client, const Message& message, std::vector<ShimCommand>& commands);
  void greet(Client& client, const Message& message, std::vector<ShimCommand>& commands);
  static void refuse(Client& client, std::string reason);
  static void send_to(Client& client);
  void drop_closed();

  Fd listener_;
  std::string token_;
  std::vector<Client> clients_;
  int64_t next_number_ = 1;
};

}  // namespace moulin
