// Turns what a shim measured into the usage that is reported, and remembers how far it
// got in a note that the shim keeps, so that a restarted server goes on from there.
#pragma once

#include <string>
#include <vector>

#include "engine/local/activity.h"
#include "shim/protocol.h"

namespace moulin {

class UsageAccount {
 public:
  UsageAccount(const ReplicaKey& key, std::vector<Grant> grants) : key_(key), grants_(std::move(grants)) {}

  // Goes on where another server stopped; an empty or damaged note changes nothing.
  void resume(std::string_view note);
  // Adds the time since the last call. Older states change nothing.
  void add(const ShimUsage& measured, ActivitySource& source);

  const Usage& usage() const { return usage_; }
  Duration wall() const { return counted_.wall; }
  std::string note() const;

 private:
  // The shim's counters as of the last add.
  struct Counted {
    Duration wall{};
    Duration cpu{};
    Duration declared{};
    Duration declared_wall{};
    Duration gpu_active{};
    template <class Self, class Visit>
    static void describe(Self& self, Visit& visit) {
      visit(1, "wall", self.wall);
      visit(2, "cpu", self.cpu);
      visit(3, "declared", self.declared);
      visit(4, "declared_wall", self.declared_wall);
      visit(5, "gpu_active", self.gpu_active);
    }
  };

  ReplicaKey key_;
  std::vector<Grant> grants_;
  Counted counted_;
  Usage usage_;
};

}  // namespace moulin
