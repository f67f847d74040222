// Those who follow the events as they happen: each keeps the number of the newest one that
// reached it and comes back with it, whatever became of the server or of the connection.
#pragma once

#include <memory>
#include <vector>

#include "base/rng.h"
#include "sim/server/life.h"

namespace moulin::sim {

class Followers {
 public:
  Followers(Site& site, uint64_t seed, size_t count);
  ~Followers();

  // One of them connects, if it is not connected.
  void come(Life& life, const std::string& token);
  // All connections are cut.
  void server_died();
  // After a quiet time: who is connected has every event.
  void check_settled() const;

  // Events that arrived, over all.
  int64_t arrived() const;

 private:
  class Stream;
  class Answer;
  struct Follower {
    int64_t newest = 0;  // the last event that arrived
    int64_t arrived = 0;
    bool asks = false;  // and has no answer yet
    std::shared_ptr<Stream> stream{};
  };

  Site& site_;
  Rng rng_;
  std::vector<std::shared_ptr<Follower>> followers_;
};

}  // namespace moulin::sim
