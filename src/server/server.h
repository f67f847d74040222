// Everything that `moulin up` runs, put together and taken apart in the right order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/http_server.h"
#include "base/result.h"
#include "boundary/engine.h"
#include "boundary/gpus.h"
#include "boundary/journal.h"
#include "engine/local/old_attempts.h"
#include "server/data_folder.h"
#include "server/installation.h"
#include "server/log.h"

namespace moulin {

struct ServerOptions {
  std::string data_folder;
  TcpAddress listen{};
  std::vector<std::string> hosts{};  // further names that it answers to, lower case
  std::string base_path{};           // "" or "/moulin"
  std::string version;
  std::string boot_id{};             // of this start of the machine
  std::vector<std::string> notes{};  // what this machine cannot do, one sentence each
  // Who started a server that runs as root: the account of the first administrator. A
  // user without an account runs nothing there. Empty: not root, everybody runs as we do.
  std::string starter_account{};
  LogsKept logs_kept{};
  FolderOrigin origin = FolderOrigin::kBegunHere;
};

// What depends on the kind of installation; made by main(). Each may fail with an Error
// that a person can act on.
struct ServerParts {
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Gpus> gpus;
  std::unique_ptr<Engine> engine;
};
using MakeParts = std::function<Result<ServerParts>(const DataFolder&, const Installation&, ServerLog&)>;

class Server {
 public:
  // Recovers the state, adopts what runs, and serves. Everything that can be wrong is an
  // Error here: the folder is locked, the journal is damaged or newer, the port is taken.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, const MakeParts& make_parts);
  ~Server();  // stops; workloads go on running

  std::string url() const;
  std::string token_file() const;
  std::string socket() const;
  // A sentence for each thing that whoever started the server should know.
  std::vector<std::string> notes() const;

  // Returns when somebody called request_stop(), e.g. `moulin down` or a signal.
  void wait();
  void request_stop();  // thread-safe

 private:
  struct Implementation;
  explicit Server(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace moulin
