#include "sim/server/followers.h"

#include <fmt/format.h>

#include <utility>

#include "api/event_reader.h"
#include "base/check.h"

namespace moulin::sim {

// The client's end of one connection. Every event comes once, in order, and is durable.
class Followers::Stream final : public StreamSink, public std::enable_shared_from_this<Stream> {
 public:
  Stream(Followers& all, std::shared_ptr<Follower> follower)
      : all_(all), follower_(std::move(follower)), reader_([this](const StreamEvent& event) { take(event); }) {}

  bool write(std::string bytes) override {
    if (!is_open_ || !all_.site_.reaches_outside()) return false;
    if (all_.site_.faults.strikes(Fault::kClientGone, 2'000)) {
      cut_soon();
      return false;
    }
    if (!reader_.feed(bytes)) all_.site_.watcher.complain("followers", "an event is longer than may be");
    return true;
  }
  void close() override { is_open_ = false; }
  bool is_open() const override { return is_open_; }
  void when_room(std::function<void()> callback) override {
    all_.site_.timeline.after(Duration{all_.rng_.below(milliseconds(50).us)},
                              [self = shared_from_this(), callback = std::move(callback)] {
                                if (self->is_open_) callback();
                              });
  }
  void when_closed(std::function<void()> callback) override {
    if (!is_open_) return callback();
    when_closed_.push_back(std::move(callback));
  }

  // The connection is no more, for both ends.
  void cut() {
    is_open_ = false;
    for (const std::function<void()>& callback : std::exchange(when_closed_, {})) callback();
  }

 private:
  // Not now: the other end is in the middle of a call to us.
  void cut_soon() {
    is_open_ = false;
    all_.site_.timeline.after({}, [self = shared_from_this()] { self->cut(); });
  }

  void take(const StreamEvent& event) {
    Watcher& watcher = all_.site_.watcher;
    int64_t number = follower_->newest + 1;
    if (event.id != std::to_string(number))
      return watcher.complain("followers", fmt::format("event {} came after {}", event.id, follower_->newest));
    if (number > watcher.events())
      return watcher.complain("followers", fmt::format("event {} was sent and is not durable", number));
    follower_->newest = number;
    ++follower_->arrived;
  }

  Followers& all_;
  std::shared_ptr<Follower> follower_;
  EventReader reader_;
  bool is_open_ = true;
  std::vector<std::function<void()>> when_closed_;
};

class Followers::Answer final : public AnswerSink {
 public:
  Answer(Followers& all, std::shared_ptr<Follower> follower) : all_(all), follower_(std::move(follower)) {}

  // Refused: too many ask, or the token is not known yet. It comes again.
  void answer(Response response) override {
    follower_->asks = false;
    if (response.status != 401 && response.status != 429 && response.status != 503)
      all_.site_.watcher.complain("followers", fmt::format("{}: {}", response.status, response.body));
  }
  std::shared_ptr<StreamSink> start_stream(StreamForm) override {
    follower_->asks = false;
    follower_->stream = std::make_shared<Stream>(all_, follower_);
    return follower_->stream;
  }
  // Nobody follows so.
  void take_over(std::function<void(TakenOver)>) override { MOULIN_CHECK(false, "a stream is no upgrade"); }

 private:
  Followers& all_;
  std::shared_ptr<Follower> follower_;
};

Followers::Followers(Site& site, uint64_t seed, size_t count) : site_(site), rng_(seed * 37 + 11) {
  for (size_t i = 0; i < count; ++i) followers_.push_back(std::make_shared<Follower>());
}

Followers::~Followers() { server_died(); }

void Followers::come(Life& life, const std::string& token) {
  const auto& follower = followers_[static_cast<size_t>(rng_.below(std::ssize(followers_)))];
  if (follower->asks || (follower->stream && follower->stream->is_open())) return;
  follower->asks = true;
  Request request{.method = Method::kGet, .segments = {"api", "v1", "events"}};
  request.headers.push_back({"authorization", "Bearer " + token});
  request.headers.push_back({"last-event-id", std::to_string(follower->newest)});
  life.dispatch_request(std::move(request), Responder(std::make_shared<Answer>(*this, follower)));
}

void Followers::server_died() {
  for (const auto& follower : followers_) {
    follower->asks = false;
    if (auto stream = std::exchange(follower->stream, nullptr)) stream->cut();
  }
}

void Followers::check_settled() const {
  for (const auto& follower : followers_) {
    bool is_behind = follower->newest != site_.watcher.events();
    if (follower->stream && follower->stream->is_open() && is_behind)
      site_.watcher.complain("followers",
                             fmt::format("a follower has {} of {} events", follower->newest, site_.watcher.events()));
  }
}

int64_t Followers::arrived() const {
  int64_t sum = 0;
  for (const auto& follower : followers_) sum += follower->arrived;
  return sum;
}

}  // namespace moulin::sim
