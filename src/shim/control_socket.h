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
using ShimCommand = std::variant<Greeted, Asked, Released, EndOrder, Seen>;

// Never blocks. Not thread-safe. A client that is no process of our own account (or
// root), does not know the token, breaks the protocol or does not read is shut out.
class ControlSocket {
 public:
  // `listener` listens and does not block.
  ControlSocket(Fd listener, std::string token) : listener_(std::move(listener)), token_(std::move(token)) {}

  void add_to(std::vector<pollfd>& waits) const;
  // Accepts, reads and writes what is possible now.
  std::vector<ShimCommand> serve();
  // Sends to everyone who was let in.
  void push(const ShimState& state);
  bool has_clients() const;

  static constexpr size_t kClientsMax = 8;
  static constexpr size_t kUnsentMax = 4 << 20;

 private:
  struct Client {
    Fd socket;
    FrameReader reader{};
    std::string unsent{};
    bool greeted = false;
    bool closing = false;
  };
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
};

}  // namespace moulin
