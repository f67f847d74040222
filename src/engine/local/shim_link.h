// The engine's end of a connection to a shim.
#pragma once

#include <string>
#include <vector>

#include "shim/fd.h"
#include "shim/protocol.h"

namespace moulin {

// Never blocks. Not thread-safe.
class ShimLink {
 public:
  // `socket` is connected and does not block. Says hello.
  ShimLink(Fd socket, const std::string& token);

  int descriptor() const { return socket_.number(); }
  bool wants_to_write() const { return !unsent_.empty(); }

  struct News {
    std::vector<ShimState> states{};
    bool closed = false;      // make a new link
    std::string refused{};    // why the shim does not let us in; empty when it does
  };
  // Reads and writes what is possible now.
  News serve();
  void send(std::string frame);

 private:
  void write();

  Fd socket_;
  FrameReader reader_;
  std::string unsent_;
};

}  // namespace moulin
