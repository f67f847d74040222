#include "server/exec_bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "api/wire_types.h"

namespace moulin {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr char kInput = 0;
constexpr char kOutput = 1;
constexpr char kErrors = 2;
constexpr size_t kUnsentMax = 256 << 10;  // then the command waits

// One command, from the client's first message to its end.
class Conversation {
 public:
  Conversation(WebSocket& socket, const ExecTarget& target, const ExecLimits& limits)
      : socket_(socket), target_(target), limits_(limits) {
    socket_.on_message = [this](WebSocket::Kind kind, std::string_view bytes) { take(kind, bytes); };
    socket_.on_room = [this] { serve(); };
    socket_.on_beat = [this] { look_around(); };
    socket_.beat = limits.beat;
  }

 private:
  void take(WebSocket::Kind kind, std::string_view bytes) {
    heard_ = SteadyClock::now();
    if (kind == WebSocket::Kind::kText) {
      Result<Json> json = parse_json(bytes);
      Status taken = !json ? json.error() : channel_ ? control(*json) : begin(*json);
      if (!taken) return hang_up(taken.error().to_text());
    } else if (channel_ && !bytes.empty() && bytes.front() == kInput) {
      channel_->input(bytes.substr(1));
    } else {
      return hang_up("a message that is not understood");
    }
    feed();
  }

  Status begin(const Json& json) {
    auto wanted = TRY(wire::Codec<wire::ExecStart>::read(json, ""));
    ExecCommand command{.argv = std::move(wanted.command), .term = std::move(wanted.term)};
    if (wanted.terminal) command.terminal = {.rows = wanted.terminal->rows, .columns = wanted.terminal->columns};
    channel_ = TRY(target_.engine.exec(target_.key, target_.token, command));
    listen();
    return {};
  }

  Status control(const Json& json) {
    auto wanted = TRY(wire::Codec<wire::ExecControl>::read(json, ""));
    if (wanted.terminal) channel_->resize({.rows = wanted.terminal->rows, .columns = wanted.terminal->columns});
    if (wanted.signal) channel_->signal(*wanted.signal);
    if (wanted.end_input) channel_->end_input();
    return {};
  }

  // Lets the command's side go on, and the client wait when it feeds too fast.
  void feed() {
    if (!channel_) return;
    bool full = channel_->waiting() > ExecChannel::kWaitingMax;
    socket_.read_on(full ? WebSocket::Reading::kHeld : WebSocket::Reading::kOn);
    if (!channel_->wants_to_write()) return;
    socket_.when(channel_->descriptor(), WebSocket::Wait::kWritable, [this] { serve(); });
  }

  void listen() {
    socket_.when(channel_->descriptor(), WebSocket::Wait::kReadable, [this] { serve(); });
  }

  void serve() {
    if (!channel_ || socket_.unsent() > kUnsentMax) return;  // on_room comes back
    ExecChannel::News news = channel_->serve();
    if (!news.output.empty() || !news.errors.empty()) heard_ = SteadyClock::now();
    say(kOutput, news.output);
    say(kErrors, news.errors);
    if (news.outcome) return end(*news.outcome);
    listen();
    feed();
  }

  void say(char kind, const std::string& bytes) {
    if (!bytes.empty()) socket_.send(WebSocket::Kind::kBinary, kind + bytes);
  }

  void look_around() {
    if (ended_at_) return look_at_the_end();
    Status allowed = target_.check ? target_.check() : Status();
    if (!allowed) return hang_up("hung up: " + allowed.error().message);
    if (!channel_ && passed_since(heard_) > limits_.silence) return hang_up("no command was asked for");
    if (passed_since(heard_) <= limits_.idle) return;
    hang_up(fmt::format("nothing was said for {} seconds: hung up", limits_.idle.us / seconds(1).us));
  }

  // A client that does not take the end is let go: soon, but for one that still has to read
  // what its command said.
  void look_at_the_end() {
    bool reads = !hung_up_ && socket_.unsent() > 0;
    if (passed_since(*ended_at_) > (reads ? limits_.idle : limits_.silence)) socket_.stop();
  }

  static Duration passed_since(SteadyClock::time_point begin) {
    return {std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - begin).count()};
  }

  void hang_up(std::string why) {
    hung_up_ = true;
    end({.error = std::move(why)});
  }

  void end(const ExecOutcome& outcome) {
    ended_at_ = SteadyClock::now();
    wire::ExecEnd last{.code = outcome.code, .signal = outcome.signal, .error = outcome.error};
    socket_.send(WebSocket::Kind::kText, write_json(wire::write(last)));
    socket_.close();
    if (channel_) socket_.forget(channel_->descriptor());
    channel_.reset();
  }

  WebSocket& socket_;
  const ExecTarget& target_;
  const ExecLimits& limits_;
  std::unique_ptr<ExecChannel> channel_;
  SteadyClock::time_point heard_ = SteadyClock::now();
  std::optional<SteadyClock::time_point> ended_at_{};
  bool hung_up_ = false;  // by us; else it has ended by itself
};

}  // namespace

ExecBridges::~ExecBridges() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Bridge& bridge : bridges_) {
      if (bridge.socket != nullptr) bridge.socket->stop();
    }
  }
  for (Bridge& bridge : bridges_) bridge.thread.join();
}

void ExecBridges::forget_ended() {
  for (Bridge& bridge : bridges_) {
    if (bridge.over) bridge.thread.join();
  }
  std::erase_if(bridges_, [](const Bridge& bridge) { return bridge.over; });
}

Result<ExecPlace> ExecBridges::take_place(const UserName& user) {
  std::lock_guard lock(taken_->mutex);
  size_t of_user = taken_->by.count(user);
  if (taken_->by.size() >= limits_.bridges || of_user >= limits_.of_one_user) {
    return Error{.code = Code::kTooMany,
                 .message = "too many commands run beside workloads",
                 .given = fmt::format("{}, {} of them yours", taken_->by.size(), of_user),
                 .allowed = fmt::format("{} at a time, {} of one user", limits_.bridges, limits_.of_one_user),
                 .to_do = "end one, then try again"};
  }
  taken_->by.insert(user);
  return ExecPlace(nullptr, [taken = taken_, user](void*) {
    std::lock_guard given_back(taken->mutex);
    taken->by.erase(taken->by.find(user));
  });
}

size_t ExecBridges::open() {
  std::lock_guard lock(mutex_);
  forget_ended();
  return bridges_.size();
}

void ExecBridges::start(ExecPlace place, TakenOver connection, Request request, ExecTarget target) {
  std::lock_guard lock(mutex_);
  forget_ended();
  if (stopping_) return;  // hangs up
  Bridge& bridge = bridges_.emplace_back();
  bridge.place = std::move(place);
  try {
    bridge.thread = std::thread([this, &bridge, connection = std::move(connection), request = std::move(request),
                                 target = std::move(target)]() mutable {
      try {
        run(bridge, std::move(connection), request, target);
      } catch (const std::exception&) {
        // Memory or descriptors are used up: this one is hung up, and the others go on.
      }
      std::lock_guard ended(mutex_);
      bridge.socket = nullptr;
      bridge.over = true;
      bridge.place.reset();
    });
  } catch (const std::system_error&) {
    bridges_.pop_back();  // no thread can be had: hangs up
  }
}

void ExecBridges::run(Bridge& bridge, TakenOver connection, const Request& request, const ExecTarget& target) {
  Result<std::unique_ptr<WebSocket>> socket = WebSocket::accept(std::move(connection), request);
  if (!socket) return;  // the client is gone, or speaks something else
  Conversation conversation(**socket, target, limits_);
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    bridge.socket = socket->get();
  }
  (*socket)->run();
  std::lock_guard lock(mutex_);
  bridge.socket = nullptr;
}

}  // namespace moulin
