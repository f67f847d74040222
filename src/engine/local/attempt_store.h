// The folders of attempts on disk.
//
//   <data>/attempts/<workload>/<attempt>/<replica>/   one replica: see shim/launch.h
//   <data>/attempts/<workload>/kept/<replica>/        shared by all attempts: its checkpoint
//   <data>/attempts/live/<workload>.<attempt>.<replica>   empty; there until the release
//
// `live` makes finding what runs cost what runs, not what ever ran. No link is followed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/report.h"
#include "shim/fd.h"

namespace moulin {

inline constexpr const char* kKeptFolder = "kept";

// "w-.../1/0" and "w-....1.0".
std::string attempt_path(const ReplicaKey& key);
std::string live_name(const ReplicaKey& key);
// The folder that outlives attempts, from the path of one attempt's folder.
std::string kept_folder(const std::string& attempt_folder);
Result<ReplicaKey> parse_live_name(std::string_view name);

// Not thread-safe.
class AttemptStore {
 public:
  // Makes <data>/attempts when it is not there; <data> must be.
  static Result<AttemptStore> open(const std::string& data_folder);

  // The folder of a replica; kNotFound when there is none.
  Result<Fd> open_folder(const ReplicaKey& key) const;
  // Makes it, with those above it.
  Result<Fd> make_folder(const ReplicaKey& key) const;
  // Makes the folder that outlives the attempts of a replica; only its owner gets in.
  Result<Fd> make_kept_folder(const ReplicaKey& key) const;
  // Moves what is there out of the way: "<replica>.old-N". At most 1000 times a key.
  Status move_aside(const ReplicaKey& key) const;
  std::string path(const ReplicaKey& key) const { return root_path_ + "/" + attempt_path(key); }
  const std::string& root_path() const { return root_path_; }

  Status mark_live(const ReplicaKey& key) const;
  void unmark_live(const ReplicaKey& key) const;
  // In order of key. Names that are none of ours are passed over.
  Result<std::vector<ReplicaKey>> live() const;

 private:
  AttemptStore(std::string root_path, Fd root, Fd live)
      : root_path_(std::move(root_path)), root_(std::move(root)), live_(std::move(live)) {}

  std::string root_path_;
  Fd root_;
  Fd live_;
};

}  // namespace moulin
