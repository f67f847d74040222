#include "server/handlers/log_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "engine/local/old_attempts.h"

namespace moulin {

namespace {

constexpr Bytes kPerRound = kibibytes(128);  // of one replica; far below the stream's queue
constexpr size_t kPlacesMax = 6;             // replicas in the id of an event
constexpr Duration kPollMin = milliseconds(5);
constexpr Duration kPollMax = milliseconds(200);

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

LogFollower::LogFollower(World& world, wire::ReadWorkloadLogs wanted, EventStream stream, LogSubject subject,
                         Place from)
    : world_(world),
      wanted_(std::move(wanted)),
      stream_(std::move(stream)),
      subject_(std::move(subject)),
      from_(std::move(from)) {}

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
  look_at_workload();
  send_state("state");
  if (!begin_attempt()) {
    if (wanted_.follow && !subject_.finished) return again_later();
    send_state("end");
    return stream_.close();
  }
  open_sources();
  if (read_round()) {
    quiet_rounds_ = 0;
    return stream_.when_room([self = shared_from_this()] { self->again_soon(); });
  }
  if (is_over() && wanted_.follow && !wanted_.attempt && subject_.attempt_count > attempt_) {
    attempt_ = 0;
    from_ = {.attempt = subject_.attempt_count, .cursors = {}};
    return again_soon();
  }
  bool ended = is_over() && (wanted_.attempt || subject_.finished);
  if (wanted_.follow && !ended) return again_later();
  send_state("end");
  stream_.close();
}

// One that has left the memory has finished; the journal knows how, and nothing changes it.
void LogFollower::look_at_workload() {
  PublishedView view = world_.reactor.view();
  if (const Workload* workload = view->state.workload(wanted_.workload)) {
    subject_ = log_subject_of(view->state, *workload);
    return;
  }
  if (subject_.finished) return;
  Result<std::optional<LogSubject>> past = past_log_subject(world_.journal, view->state, wanted_.workload);
  if (past && *past) subject_ = **std::move(past);
  subject_.finished = true;
  subject_.newest_over = true;
}

// False: there is no attempt to read yet.
bool LogFollower::begin_attempt() {
  if (attempt_ != 0) return true;
  attempt_ = wanted_.attempt.value_or(from_.attempt != 0 ? from_.attempt : subject_.attempt_count);
  sources_.clear();
  return attempt_ != 0;
}

// Replicas come while an attempt runs.
void LogFollower::open_sources() {
  for (ReplicaIndex index : replicas_on_disk(world_.facts.data_folder, wanted_.workload, {attempt_})) {
    int32_t replica = index.value;
    if (wanted_.replica && *wanted_.replica != replica) continue;
    if (std::ranges::find(sources_, replica, &Source::replica) != sources_.end()) continue;
    LogRequest request;
    if (wanted_.stream)
      request.stream = *wanted_.stream == wire::LogStream::kStdout ? LogStream::kOut : LogStream::kErr;
    if (wanted_.since) request.since_us = wanted_.since->us;
    if (wanted_.tail) request.tail = *wanted_.tail;
    if (auto cursor = from_.cursors.find(replica); cursor != from_.cursors.end()) request.cursor = cursor->second;
    ReplicaKey key{wanted_.workload, {attempt_}, index};
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

void LogFollower::send_state(std::string_view type) {
  if (!is_events()) return;
  if (type == "state" && told_ == subject_.now) return;
  stream_.send({.id = {}, .type = std::string(type), .data = write_json(wire::write(subject_.now))});
  told_ = subject_.now;
}

std::string LogFollower::place() const {
  if (sources_.size() > kPlacesMax) return "";
  std::string text = std::to_string(attempt_);
  for (const Source& source : sources_) text += fmt::format("/{}:{}", source.replica, to_text(source.reader.cursor()));
  return text;
}

}  // namespace moulin
