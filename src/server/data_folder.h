// The folder that holds an installation: its lock and its layout.
//
//   lock          held by the server that serves it
//   installation  which installation this is, and whether the folder is a copy (installation.h)
//   journal.db    everything that happened (and files beside it, see journal/)
//   admin.token   the first administrator's token, mode 0600
//   moulin.sock   the UNIX socket of the API, mode 0600
//   attempts/     one folder for each replica that was started: logs, status, sockets
//   snapshots/    copies of code folders by content
//   server.log    what the server had to say, JSON lines
#pragma once

#include <string>

#include "base/result.h"

namespace moulin {

class DataFolder {
 public:
  // Makes what is missing (mode 0700; for root 0711, since replicas run as others) and
  // takes the lock until destruction. kConflict:
  // another server serves it. kUnavailable: the folder cannot be made or written.
  static Result<DataFolder> open(const std::string& path);
  ~DataFolder();
  DataFolder(DataFolder&& other) noexcept;
  DataFolder& operator=(DataFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string journal() const { return path_ + "/journal.db"; }
  static constexpr const char* kAdminToken = "admin.token";
  std::string admin_token() const { return path_ + "/" + kAdminToken; }
  std::string socket() const { return path_ + "/moulin.sock"; }
  std::string attempts() const { return path_ + "/attempts"; }
  std::string snapshots() const { return path_ + "/snapshots"; }
  std::string log() const { return path_ + "/server.log"; }

 private:
  DataFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;  // absolute
  int lock_;          // descriptor; -1 when moved from
};

}  // namespace moulin
