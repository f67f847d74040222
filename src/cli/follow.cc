#include "cli/follow.h"

#include <algorithm>

namespace moulin::cli {

namespace {

// Reads the data of an event as a wire type; what does not read is a defect of the server.
template <class T>
Result<T> read_data(const StreamEvent& event) {
  Result<Json> data = parse_json(event.data);
  Result<T> value = data ? wire::read<T>(*data) : Result<T>(data.error());
  if (value) return value;
  Error error = std::move(value).error();
  error.code = Code::kInternal;
  error.message = "the server sent an event that cannot be read: " + error.message;
  return error;
}

constexpr Duration kReconnectPauseMin = milliseconds(100);

// Waits longer each time, and says so once.
class Patience {
 public:
  Patience(Session& session, Interrupts* interrupts) : session_(session), interrupts_(interrupts) {}

  void reset() {
    waited_ = {};
    pause_ = kReconnectPauseMin;
  }
  // False when there is no more time, or an interrupt came.
  bool wait() {
    if (waited_ >= kReconnectTime) return false;
    if (!has_said_) session_.console().note("The server does not answer; trying again for 5 minutes.");
    has_said_ = true;
    if (!interrupts_) {
      own_ = session_.surroundings().hold_interrupts();
      interrupts_ = own_.get();
    }
    waited_ += pause_;
    was_interrupted_ = interrupts_->wait(pause_);
    pause_ = std::min(pause_ * 2, kReconnectPauseMax);
    return !was_interrupted_;
  }
  bool was_interrupted() const { return was_interrupted_; }

 private:
  Session& session_;
  Interrupts* interrupts_;
  std::unique_ptr<Interrupts> own_;
  Duration waited_{};
  Duration pause_ = kReconnectPauseMin;
  bool was_interrupted_ = false;
  bool has_said_ = false;
};

}  // namespace

Result<StreamEnd> follow_stream(Session& session, const StreamCall& call, FollowOptions options,
                                const std::function<Flow(const StreamEvent&)>& on_event) {
  bool goes_on = options.when_broken == FollowOptions::WhenBroken::kGoOn;
  std::optional<std::string> last_id;
  Patience patience(session, options.interrupts);
  std::unique_ptr<ApiClient> api = TRY(session.connect(options.interrupts ? options.interrupts->descriptor() : -1));
  for (;;) {  // ends with patience
    Result<StreamEnd> end = api->stream(call(last_id), [&](const StreamEvent& event) {
      // The same event again is no progress: a stream may begin with where it stands.
      if (!event.id.empty() && event.id != last_id) {
        patience.reset();
        last_id = event.id;
      }
      return on_event(event);
    });
    bool complete = !goes_on || (options.is_complete && options.is_complete());
    if (end && (*end != StreamEnd::kFinished || complete)) return end;
    if (!end && (end.error().code != Code::kUnavailable || !goes_on)) return session.explained(end.error());
    if (patience.wait()) continue;
    if (patience.was_interrupted()) return StreamEnd::kWoken;
    return Error{.code = Code::kUnavailable,
                 .message = "the server did not come back within 5 minutes",
                 .to_do = "its workloads go on without it; start it again with `moulin up`"};
  }
}

Result<std::optional<wire::LogState>> follow_logs(Session& session, wire::ReadWorkloadLogs wanted,
                                                  FollowOptions options, const LogListener& listener) {
  wanted.format = wire::LogFormat::kEvents;
  std::optional<wire::LogState> last;
  Status broken;
  auto call = [&](const std::optional<std::string>& last_event_id) {
    wire::ReadWorkloadLogs from_here = wanted;
    from_here.last_event_id = last_event_id;
    if (last_event_id) from_here.tail.reset();
    return wire::write_parameters(from_here);
  };
  auto take = [&](const StreamEvent& event) -> Status {
    if (event.type == "line") listener.on_line(TRY(read_data<wire::LogLine>(event)));
    if (event.type == "state" || event.type == "end") {
      last = TRY(read_data<wire::LogState>(event));
      listener.on_state(*last);
    }
    return {};
  };
  options.is_complete = [&] { return last && is_finished(last->state); };
  StreamEnd end = TRY(follow_stream(session, call, options, [&](const StreamEvent& event) {
    broken = take(event);
    return broken && event.type != "end" ? Flow::kContinue : Flow::kStop;
  }));
  TRY(std::move(broken));
  if (end == StreamEnd::kWoken) return std::optional<wire::LogState>{};
  return last ? last : wire::LogState{};
}

int exit_status_of(const wire::LogState& end) {
  constexpr int32_t kStatusMax = 255;
  if (end.state == WorkloadState::kSucceeded) return 0;
  if (end.exit && end.exit->signal) return 128 + std::clamp(*end.exit->signal, 1, 127);
  if (end.exit && end.exit->code && *end.exit->code != 0) return std::clamp(*end.exit->code, 1, kStatusMax);
  return 1;
}

}  // namespace moulin::cli
