// Between the WebSocket of a client and a command beside a replica: one thread for each,
// as long as it lasts.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "api/websocket.h"
#include "base/result.h"
#include "boundary/engine.h"

namespace moulin {

// What a client wants a command to run in; known and allowed.
struct ExecTarget {
  Engine& engine;
  ReplicaKey key{};
  std::string token{};
  std::function<Status()> check{};  // asked again and again, from another thread: whether it is still allowed
};

struct ExecLimits {
  size_t bridges = 64;               // at a time
  size_t of_one_user = 16;           // of these
  Duration idle = hours(24);         // so long neither side said anything: it is hung up on
  Duration silence = seconds(30);    // before the client says what it wants to run, and after the end
  Duration beat = WebSocket::kBeat;  // so often times are looked at
};

// Room for one command, as long as somebody holds it.
using ExecPlace = std::shared_ptr<void>;

// Thread-safe. Each holds at most about 2 MiB of what is on its way.
class ExecBridges {
 public:
  explicit ExecBridges(ExecLimits limits = {}) : limits_(limits) {}
  ~ExecBridges();  // hangs up on all
  ExecBridges(const ExecBridges&) = delete;
  ExecBridges& operator=(const ExecBridges&) = delete;

  // kTooMany: as many as may be are taken. Taken before the connection is, so that who gets
  // none is answered.
  Result<ExecPlace> take_place(const UserName& user);
  size_t open();
  // The connection and the place are the bridge's from now on.
  void start(ExecPlace place, TakenOver connection, Request request, ExecTarget target);

 private:
  // Outlives us while a request still holds a place.
  struct Taken {
    std::mutex mutex{};
    std::multiset<UserName> by{};
  };
  struct Bridge {
    ExecPlace place{};
    std::thread thread{};
    WebSocket* socket = nullptr;  // while it runs; guarded by mutex_
    bool over = false;
  };
  void run(Bridge& bridge, TakenOver connection, const Request& request, const ExecTarget& target);
  void forget_ended();  // with mutex_ held

  const ExecLimits limits_;
  const std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
  std::mutex mutex_;
  std::list<Bridge> bridges_;
  bool stopping_ = false;
};

}  // namespace moulin
