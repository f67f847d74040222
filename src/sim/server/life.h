// One life of the server: everything that Server puts together, without threads. Whoever
// owns it says who takes the next turn, so that every order of things can be tried.
#pragma once

#include <memory>
#include <string>

#include "server/bootstrap.h"
#include "server/handlers/dispatch.h"
#include "server/housekeeper.h"
#include "sim/server/disk.h"
#include "sim/server/hardware.h"
#include "sim/server/machine.h"
#include "sim/server/watcher.h"

namespace moulin::sim {

// What outlives the server.
struct Site {
  Timeline& timeline;
  MachineClocks& clocks;
  Machine& machine;
  Hardware& hardware;
  Disk& disk;
  Watcher& watcher;
  Faults& faults;
  Pulse& pulse;
  std::string data_folder;
  // The server does something that can be seen outside. False: it died before that.
  std::function<bool()> reaches_outside;
};

class Life {
 public:
  // Recovers and does what a server does before it answers anybody. Errors are what
  // `moulin up` would say; it may also die in the middle of it.
  static Result<std::unique_ptr<Life>> begin(Site& site, std::function<bool()> is_alive);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void dispatch_request(Request request, Responder responder);

  Reactor& reactor() { return *reactor_; }
  Committer& committer() { return *committer_; }
  Readers& readers() { return *readers_; }
  Housekeeper& housekeeper() { return *housekeeper_; }
  // In true time.
  Instant true_time(Instant instant) const;

 private:
  class EngineView;
  Life(Site& site, std::function<bool()> is_alive);
  Status recover();
  Status boot();
  Result<Events> give(CommandBody body);

  Site& site_;
  std::function<bool()> is_alive_;
  std::optional<DataFolder> folder_;
  Journal* journal_ = nullptr;
  std::unique_ptr<VirtualClock> clock_;
  std::unique_ptr<IdMaker> ids_;
  std::unique_ptr<EngineView> engine_;
  std::unique_ptr<Gpus> gpus_;
  EventHub events_;
  ExecBridges execs_;
  std::shared_ptr<void> listening_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Housekeeper> housekeeper_;
  ServerFacts facts_;
  HttpMetrics http_metrics_;
  Digests digests_;
  ByteBudget submissions_{mebibytes(256)};
  std::unique_ptr<World> world_;
};

}  // namespace moulin::sim
