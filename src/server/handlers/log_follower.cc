#include "server/handlers/log_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "server/handlers/workload_wire.h"

namespace moulin {

namespace {

constexpr Bytes kPerRound = kibibytes(128);  // of one replica; far below the stream's queue
constexpr size_t kPlacesMax = 6;             // replicas in the id of an event
constexpr Duration kPollMin = milliseconds(5);
constexpr Duration kPollMax = milliseconds(200);

// The attempt with that number, while it is in memory.
const Attempt* find_attempt(const Workload& workload, int32_t number) {
  auto found =
      std::ranges::find(workload.attempts, number, [](const Attempt& attempt) { return attempt.number.value; });
  return found == workload.attempts.end() ? nullptr : &*found;
}

// What JSON and terminals take: each byte that is no text becomes the sign for that.
std::string as_text(std::string text) {
  if (is_utf8(text) && !text.contains('\0')) return text;
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    size_t length = 1;  // of a character, at most 4
    while (length < 4 && length < rest.size() && !is_utf8(rest.substr(0, length))) ++length;
    bool good = rest[0] != '\0' && is_utf8(rest.substr(0, length));
    out += good ? rest.substr(0, length) : "\xef\xbf\xbd";
    rest.remove_prefix(good ? length : 1);
  }
  return out;
}

Error bad_place(std::string_view text) {
  return {.code = Code::kInvalid,
          .message = "not a place in a log",
          .field = "Last-Event-ID",
          .given = shortened(text),
          .to_do = "send the id of the last event that you had"};
}

std::optional<int32_t> number_of(std::string_view text) {
  int32_t number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

// "2/0:3.1200-1.0/1:1.0-1.0": attempt, then replica and cursor.
Result<LogFollower::Place> LogFollower::parse_place(std::string_view text) {
  std::vector<std::string_view> parts = split(text, '/');
  std::optional<int32_t> attempt = number_of(parts.front());
  if (!attempt) return bad_place(text);
  Place place{.attempt = *attempt, .cursors = {}};
  for (std::string_view part : std::span(parts).subspan(1)) {
    size_t colon = part.find(':');
    std::optional<int32_t> replica = number_of(part.substr(0, colon));
    if (!replica || colon == std::string_view::npos) return bad_place(text);
    Result<LogCursor> cursor = parse_log_cursor(part.substr(colon + 1));
    if (!cursor) return bad_place(text);
    place.cursors[*replica] = *cursor;
  }
  return place;
}

LogFollower::LogFollower(World& world, wire::ReadWorkloadLogs wanted, EventStream stream, Place from)
    : world_(world), wanted_(std::move(wanted)), stream_(std::move(stream)), from_(std::move(from)) {}

void LogFollower::start() { again_soon(); }

// When all readers are busy, later.
void LogFollower::again_soon() {
  Status queued = world_.readers.run([self = shared_from_this()] { self->round(); });
  if (!queued) world_.pulse.after(kPollMax, [self = shared_from_this()] { self->again_soon(); });
}

// Nothing new: look again soon at first, then less often.
void LogFollower::again_later() {
  Duration delay = std::min(kPollMin * (1 + quiet_rounds_ / 20), kPollMax);
  ++quiet_rounds_;
  world_.pulse.after(delay, [self = shared_from_this()] { self->again_soon(); });
}

void LogFollower::round() {
  if (!stream_.is_open()) return;
  // The state before the files: what an ended attempt wrote is there then.
  PublishedView view = world_.reactor.view();
  const Workload* workload = view->state.workload(wanted_.workload);
  if (workload == nullptr) return stream_.close();
  send_state(view->state, *workload, "state");
  if (!begin_attempt(*workload)) {
    if (wanted_.follow && !is_finished(workload->state)) return again_later();
    send_state(view->state, *workload, "end");
    return stream_.close();
  }
  open_sources(*workload);
  if (read_round()) {
    quiet_rounds_ = 0;
    return stream_.when_room([self = shared_from_this()] { self->again_soon(); });
  }
  const Attempt* attempt = find_attempt(*workload, attempt_);
  bool over = attempt == nullptr || attempt->state == AttemptState::kEnded;
  if (over && wanted_.follow && !wanted_.attempt && workload->attempt_count > attempt_) {
    attempt_ = 0;
    from_ = {.attempt = workload->attempt_count, .cursors = {}};
    return again_soon();
  }
  bool ended = over && (wanted_.attempt || is_finished(workload->state));
  if (wanted_.follow && !ended) return again_later();
  send_state(view->state, *workload, "end");
  stream_.close();
}

// False: there is no attempt to read yet.
bool LogFollower::begin_attempt(const Workload& workload) {
  if (attempt_ != 0) return true;
  attempt_ = wanted_.attempt.value_or(from_.attempt != 0 ? from_.attempt : workload.attempt_count);
  sources_.clear();
  return attempt_ != 0;
}

// Replicas come while an attempt runs; their folders come a little later still.
void LogFollower::open_sources(const Workload& workload) {
  const Attempt* attempt = find_attempt(workload, attempt_);
  auto count = static_cast<int32_t>(attempt == nullptr ? 0 : attempt->replicas.size());
  for (int32_t replica = 0; replica < count; ++replica) {
    if (wanted_.replica && *wanted_.replica != replica) continue;
    if (std::ranges::find(sources_, replica, &Source::replica) != sources_.end()) continue;
    LogRequest request;
    if (wanted_.stream)
      request.stream = *wanted_.stream == wire::LogStream::kStdout ? LogStream::kOut : LogStream::kErr;
    if (wanted_.since) request.since_us = wanted_.since->us;
    if (wanted_.tail) request.tail = *wanted_.tail;
    if (auto cursor = from_.cursors.find(replica); cursor != from_.cursors.end()) request.cursor = cursor->second;
    ReplicaKey key{workload.id, {attempt_}, {replica}};
    Result<LogReader> reader = LogReader::open(world_.facts.data_folder, key, request);
    if (reader) sources_.push_back({replica, std::move(*reader)});
  }
}

// True: something was read, so there may be more.
bool LogFollower::read_round() {
  std::vector<Line> lines;
  bool more = false;
  for (Source& source : sources_) {
    LogChunk chunk = source.reader.read_more(kPerRound);
    more = more || chunk.more;
    for (LogLine& line : chunk.lines) lines.push_back({source.replica, lines.size(), std::move(line)});
  }
  bool any = !lines.empty();
  std::ranges::sort(lines, {}, [](const Line& line) { return std::pair(line.line.time_us, line.order); });
  send(std::move(lines));
  return any || more;
}

void LogFollower::send(std::vector<Line> lines) {
  if (!is_events()) {
    std::string text;
    for (const Line& line : lines) {
      text += line.line.text;
      if (line.line.end == LineEnd::kNewline) text += '\n';
    }
    if (!text.empty()) stream_.write(std::move(text));
    return;
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    LogLine& line = lines[i].line;
    wire::LogLine out{.time = {line.time_us},
                      .replica = lines[i].replica,
                      .attempt = attempt_,
                      .stream = line.stream == LogStream::kOut ? wire::LogStream::kStdout : wire::LogStream::kStderr,
                      .text = as_text(std::move(line.text)),
                      .partial = line.end != LineEnd::kNewline};
    // The cursors stand behind the whole round: only its last line has a place.
    std::string id = i + 1 == lines.size() ? place() : "";
    stream_.send({.id = id, .type = "line", .data = write_json(wire::write(out))});
  }
}

void LogFollower::send_state(const State& state, const Workload& workload, std::string_view type) {
  if (!is_events()) return;
  wire::LogState now = log_state_of(state, workload);
  if (type == "state" && told_ == now) return;
  stream_.send({.id = {}, .type = std::string(type), .data = write_json(wire::write(now))});
  told_ = now;
}

std::string LogFollower::place() const {
  if (sources_.size() > kPlacesMax) return "";
  std::string text = std::to_string(attempt_);
  for (const Source& source : sources_) text += fmt::format("/{}:{}", source.replica, to_text(source.reader.cursor()));
  return text;
}

}  // namespace moulin
