// The people and scripts at the other end: what they ask, what they must be answered, and
// how they vanish in the middle of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/server/life.h"

namespace moulin::sim {

// One request and what became of it.
struct Exchange {
  int64_t number = 0;
  std::string line{};   // for the tail: "POST workloads by u1"
  std::string key{};    // idempotency key
  std::string about{};  // whose token was asked for
  enum class Expected { kAny, kRefused, kUnauthenticated } expected = Expected::kAny;
  bool is_submission = false;
  bool is_gone = false;  // nobody reads the answer: the client or the server is no more
  int answers = 0;
};

class Users {
 public:
  // `count` ordinary users beside the administrator, a viewer and a stranger.
  Users(Site& site, uint64_t seed, int64_t count);

  // Somebody asks something; what, the dice say.
  void ask(Life& life);
  // Everything unfinished is to stop.
  void stop_everything(Life& life);
  // The server is no more: nobody will be answered, and some ask again later.
  void server_died();

  // Of the server that lives now: not answered.
  std::vector<std::string> unanswered() const;
  int64_t asked() const { return asked_; }
  std::string admin_token() { return token_of("admin"); }

 private:
  class Sink;
  struct Call {
    Method method = Method::kGet;
    std::vector<std::string> segments{};
    std::string body{};
    std::string key{};
    std::vector<QueryItem> query{};
    Exchange::Expected expected = Exchange::Expected::kAny;
    std::string about{};
  };
  struct Keyed {
    std::string user{};
    Call call{};
    std::string answer{};  // the ids; empty: never answered
    Instant first{};
  };

  bool set_up(Life& life);
  void send(Life& life, const std::string& user, Call call);
  void take_answer(Exchange& exchange, const Response& response);
  void take_submission(const Exchange& exchange, const Response& response);
  void take_token(const Exchange& exchange, const Response& response);
  std::string token_of(const std::string& user);

  void submit(Life& life, const std::string& user);
  void submit_again(Life& life);
  void act_on_workload(Life& life, const std::string& user);
  void read(Life& life, const std::string& user);
  void administer(Life& life);
  void misbehave(Life& life);
  std::string random_workload(const std::string& name, const std::string& user);
  std::string project_for(const std::string& user);
  std::string random_quota();
  std::string any_workload();
  std::string any_project();
  std::string any_user();

  Site& site_;
  Rng rng_;
  const int64_t count_;
  int64_t asked_ = 0;
  int64_t names_ = 0;
  std::map<std::string, std::string> tokens_;  // by user
  std::map<int64_t, std::shared_ptr<Exchange>> open_;
  std::map<std::string, Keyed> keyed_;  // by key; at most kKeyedMax
};

}  // namespace moulin::sim
