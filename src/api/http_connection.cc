#include "api/http_connection.h"

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <charconv>
#include <exception>

#include <fmt/format.h>

#include "api/problem.h"
#include "base/check.h"

namespace moulin::http_internal {

namespace {

// The responder's way back to the connection, from any thread.
class PendingAnswer final : public AnswerSink {
 public:
  PendingAnswer(std::shared_ptr<ServerCore> core, std::shared_ptr<Connection> connection)
      : core_(std::move(core)), connection_(std::move(connection)) {}

  void answer(Response response) override {
    core_->run_on_io([connection = connection_, response = std::move(response)]() mutable {
      connection->answer(std::move(response));
    });
  }

  std::shared_ptr<StreamSink> start_stream(StreamForm form) override {
    const int64_t open = core_->counters.streams_open.fetch_add(1);
    auto stream = std::make_shared<ConnectionStream>(core_, connection_);
    if (open >= core_->options.limits.event_streams) {
      core_->counters.streams_open -= 1;
      stream->on_lost();
      answer(problem_response({.code = Code::kTooMany,
                               .message = "too many streams are open",
                               .given = fmt::format("{} open", open),
                               .allowed = fmt::format("at most {}", core_->options.limits.event_streams),
                               .to_do = "close some, or retry later"}));
      return stream;
    }
    core_->run_on_io([connection = connection_, stream, form] { connection->start_stream(stream, form); });
    return stream;
  }

  void take_over(std::function<void(TakenOver)> then) override {
    core_->run_on_io(
        [connection = connection_, then = std::move(then)]() mutable { connection->take_over(std::move(then)); });
  }

 private:
  const std::shared_ptr<ServerCore> core_;
  const std::shared_ptr<Connection> connection_;
};

Method parse_method(std::string_view text) {
  for (const Method method : {Method::kGet, Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    if (text == to_text(method)) return method;
  }
  return text == "HEAD" ? Method::kGet : Method::kOther;
}

std::string chunk(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

bool is_text_safe(std::string_view value) {
  return value.find('\r') == std::string_view::npos && value.find('\n') == std::string_view::npos;
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerCore> core, Socket socket, Peer peer)
    : core_(std::move(core)),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      timer_(core_->io),
      write_timer_(core_->io) {}

void Connection::start() {
  core_->counters.connections_open += 1;
  core_->connections.insert(shared_from_this());
  arm(core_->options.limits.idle_time, Timeout::kClose);
  read();
}

void Connection::start_refused() {
  core_->counters.connections_open += 1;
  core_->counters.connections_refused += 1;
  core_->connections.insert(shared_from_this());
  const int64_t allowed = core_->options.limits.connections;
  refuse({.status = 503,
          .error = {.code = Code::kUnavailable,
                    .message = "too many connections",
                    .allowed = fmt::format("at most {}", allowed),
                    .to_do = "retry later"}});
}

void Connection::drain() {
  keeps_alive_ = false;
  if (phase_ == Phase::kIdle) return close();
  if (stream_) stream_->close();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  phase_ = Phase::kClosed;
  disarm();
  write_number_ += 1;
  error_code ignored;
  write_timer_.cancel(ignored);
  socket_.close(ignored);
  then_ = nullptr;
  hold(0);
  core_->counters.connections_open -= 1;
  core_->connections.erase(self);
  if (stream_) {
    core_->counters.streams_open -= 1;
    std::exchange(stream_, nullptr)->on_lost();
  }
  if (core_->draining && core_->connections.empty()) core_->on_drained();
}

// ---- reading ----

void Connection::read() {
  if (reading_ || phase_ == Phase::kClosed) return;
  // While a request is handled we read on, to notice that the client has gone; a client
  // that pipelines more than this waits for its answers first.
  if (waiting().size() > static_cast<size_t>(core_->options.limits.header.count) && phase_ != Phase::kReading) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(piece_),
                          [self = shared_from_this()](error_code error, size_t count) { self->on_read(error, count); });
}

void Connection::on_read(error_code error, size_t count) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kLeaving) {
    in_.append(piece_.data(), count);
    return hand_over();
  }
  if (error) return on_read_error(error);
  if (phase_ == Phase::kLingering) {
    discarded_ += count;
    // Enough for any client that looks up from sending now and then.
    if (discarded_ > 16 * static_cast<size_t>(core_->options.limits.body.count)) return close();
    return read();
  }
  in_.append(piece_.data(), count);
  if (phase_ == Phase::kIdle) {
    phase_ = Phase::kReading;
    arm(core_->options.limits.request_time, Timeout::kClose);
  }
  if (phase_ == Phase::kReading) return parse();
  read();
}

void Connection::on_read_error(error_code error) {
  // A client that has sent its request and closed its half still gets its answer.
  const bool answer_owed = phase_ == Phase::kHandling || phase_ == Phase::kAnswering;
  if (error == asio::error::eof && answer_owed) {
    keeps_alive_ = false;
    return;
  }
  close();
}

void Connection::parse() {
  while (phase_ == Phase::kReading && !writing_) {
    if (!parser_) parser_.emplace(core_->options.limits);
    const ParseStep step = parser_->feed(waiting());
    in_start_ += step.taken;
    switch (step.progress) {
      case ParseStep::Progress::kNeedMore: in_.erase(0, std::exchange(in_start_, 0)); return read();
      case ParseStep::Progress::kHead:
        if (!accept_head()) return;
        break;
      case ParseStep::Progress::kDone: return dispatch();
      case ParseStep::Progress::kFailed: return refuse(parser_->failure());
    }
  }
}

bool Connection::accept_head() {
  const RequestHead& head = parser_->head();
  version_ = head.version;
  keeps_alive_ = head.keeps_alive && !core_->draining;
  head_only_ = head.method == "HEAD";
  method_ = parse_method(head.method);
  const Status checked = check_head(head);
  if (!checked) {
    refuse({.status = http_status(checked.error().code), .error = checked.error()});
    return false;
  }
  if (head.expects_continue && head.has_body && version_ >= 11) {
    write("HTTP/1.1 100 Continue\r\n\r\n", [this] { parse(); });
    return false;
  }
  return true;
}

void Connection::hold(int64_t bytes) { core_->counters.buffered_bytes += bytes - std::exchange(held_bytes_, bytes); }

// Before a body is read: its announced length, or what it may have at most.
Status Connection::make_room(const RequestHead& head) {
  const HttpLimits& limits = core_->options.limits;
  int64_t coming = 0;
  if (head.has_body) {
    const std::string* length = find_header(head.headers, "content-length");
    coming = limits.body.count;
    if (length != nullptr) std::from_chars(length->data(), length->data() + length->size(), coming);
  }
  if (core_->counters.buffered_bytes + coming > limits.buffered.count) {
    return Error{.code = Code::kTooMany,
                 .message = "too many requests and answers are in memory",
                 .allowed = fmt::format("{} at a time", to_text(limits.buffered)),
                 .to_do = "try again in a second"};
  }
  hold(coming);
  return {};
}

Status Connection::check_head(const RequestHead& head) {
  TRY(check_host(head.headers, core_->options.hosts));
  // What a page opens with an upgrade it may read and write, whatever its site.
  bool harmless = method_ == Method::kGet && find_header(head.headers, "upgrade") == nullptr;
  if (!harmless) TRY(check_origin(head.headers, core_->options.hosts));
  const bool is_local = peer_.transport == Peer::Transport::kUnix;
  target_ = TRY(parse_target(head.target, is_local ? "" : core_->options.base_path));
  return make_room(head);
}

void Connection::dispatch() {
  phase_ = Phase::kHandling;
  core_->counters.requests += 1;
  arm(core_->options.limits.answer_time, Timeout::kAnswer503);
  Request request{.method = method_,
                  .segments = std::move(target_.segments),
                  .query = std::move(target_.query),
                  .headers = std::move(parser_->head().headers),
                  .body = parser_->take_body(),
                  .peer = peer_};
  parser_.reset();
  in_.erase(0, std::exchange(in_start_, 0));
  // A handler that throws destroys its responder, which then answers 500.
  try {
    core_->handler(std::move(request), Responder(std::make_shared<PendingAnswer>(core_, shared_from_this())));
  } catch (const std::exception& exception) {
    core_->options.report(fmt::format("a handler threw: {}", exception.what()));
  } catch (...) {
    core_->options.report("a handler threw what is no exception");
  }
  read();
}

void Connection::refuse(const ParseFailure& failure) {
  core_->counters.refusals += 1;
  phase_ = Phase::kAnswering;
  keeps_alive_ = false;
  const Response response = problem_response(failure.error, failure.status);
  std::string bytes = answer_head(response);
  if (!head_only_) bytes += response.body;
  write(std::move(bytes), [this] { linger(); });
}

// Closing while the client still sends makes the kernel throw away what we wrote.
void Connection::linger() {
  phase_ = Phase::kLingering;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  arm(core_->options.limits.linger, Timeout::kClose);
  read();
}

// ---- answering ----

std::string Connection::answer_head(const Response& response) const {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, status_text(response.status));
  for (const Header& header : response.headers) {
    MOULIN_CHECK(is_text_safe(header.name) && is_text_safe(header.value), "a header is one line");
    head.append(header.name).append(": ").append(header.value).append("\r\n");
  }
  if (!response.body.empty()) head.append("Content-Type: ").append(response.content_type).append("\r\n");
  if (response.status != 204 && response.status != 304) {
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  if (!keeps_alive_) head += "Connection: close\r\n";
  if (keeps_alive_ && version_ == 10) head += "Connection: keep-alive\r\n";
  return head.append("\r\n");
}

void Connection::answer(Response response) {
  if (phase_ != Phase::kHandling) return;  // the client has gone, or the answer is late
  phase_ = Phase::kAnswering;
  disarm();
  if (core_->draining) keeps_alive_ = false;
  std::string bytes = answer_head(response);
  if (!head_only_) bytes += response.body;
  hold(static_cast<int64_t>(bytes.size()));
  write(std::move(bytes), [this] { finish_answer(); });
}

void Connection::finish_answer() {
  hold(0);
  if (!keeps_alive_ || core_->draining) return linger();
  phase_ = Phase::kIdle;
  head_only_ = false;
  if (in_.capacity() > 4 * piece_.size() && in_.empty()) in_.shrink_to_fit();
  if (in_.empty()) {
    arm(core_->options.limits.idle_time, Timeout::kClose);
    return read();
  }
  phase_ = Phase::kReading;
  arm(core_->options.limits.request_time, Timeout::kClose);
  parse();
}

void Connection::write(std::string bytes, std::function<void()> then) {
  MOULIN_CHECK(!writing_, "one write at a time");
  writing_ = true;
  out_ = std::move(bytes);
  out_start_ = 0;
  then_ = std::move(then);
  write_some();
}

void Connection::write_some() {
  write_timer_.expires_after(chrono_of(core_->options.limits.write_stall));
  write_timer_.async_wait([self = shared_from_this(), number = ++write_number_](error_code error) {
    if (!error && number == self->write_number_) self->on_timeout(Timeout::kClose);
  });
  socket_.async_write_some(
      asio::buffer(out_.data() + out_start_, out_.size() - out_start_),
      [self = shared_from_this()](error_code error, size_t count) { self->on_written(error, count); });
}

void Connection::on_written(error_code error, size_t count) {
  if (phase_ == Phase::kClosed) return;
  if (error) return close();
  out_start_ += count;
  if (out_start_ < out_.size()) return write_some();
  writing_ = false;
  write_number_ += 1;
  write_timer_.cancel(error);
  out_.clear();
  if (out_.capacity() > 4 * piece_.size()) out_.shrink_to_fit();
  const std::function<void()> then = std::exchange(then_, nullptr);
  then();
}

// ---- handing over ----

void Connection::take_over(std::function<void(TakenOver)> then) {
  if (phase_ != Phase::kHandling) return;  // the client has gone
  disarm();
  phase_ = Phase::kLeaving;
  taker_ = std::move(then);
  if (!reading_) return hand_over();
  error_code ignored;
  socket_.cancel(ignored);  // what has been read meanwhile still comes
}

void Connection::hand_over() {
  const std::function<void(TakenOver)> taker = std::exchange(taker_, nullptr);
  error_code error;
  TakenOver taken{.socket = Descriptor(socket_.release(error)), .read_ahead = std::exchange(in_, {})};
  close();
  if (!error) taker(std::move(taken));
}

// ---- streams ----

void Connection::start_stream(std::shared_ptr<ConnectionStream> stream, StreamForm form) {
  if (phase_ != Phase::kHandling) {
    core_->counters.streams_open -= 1;
    return stream->on_lost();
  }
  phase_ = Phase::kStreaming;
  hold(0);
  disarm();
  stream_ = std::move(stream);
  form_ = form;
  if (version_ == 10) keeps_alive_ = false;
  std::string head =
      fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n{}Cache-Control: no-store\r\n{}\r\n",
                  form == StreamForm::kEvents ? "text/event-stream" : "text/plain; charset=utf-8",
                  version_ == 10 ? "" : "Transfer-Encoding: chunked\r\n", keeps_alive_ ? "" : "Connection: close\r\n");
  if (form == StreamForm::kEvents) arm(core_->options.limits.heartbeat, Timeout::kHeartbeat);
  if (head_only_) stream_->close();
  if (core_->draining) stream_->close();
  write(std::move(head), [this] { head_only_ ? end_stream() : flush_stream(); });
}

void Connection::send_piece(std::string piece) {
  write(version_ == 10 ? std::move(piece) : chunk(piece), [this] {
    stream_->on_sent();
    if (phase_ == Phase::kStreaming) flush_stream();
  });
}

void Connection::flush_stream() {
  if (!stream_ || writing_) return;
  if (!stream_->is_open() && !stream_->is_ending()) return close();  // dropped: too slow
  std::string piece = stream_->take();
  if (!piece.empty()) {
    if (form_ == StreamForm::kEvents) arm(core_->options.limits.heartbeat, Timeout::kHeartbeat);
    return send_piece(std::move(piece));
  }
  if (!stream_->is_ending()) return stream_->offer_room();
  if (version_ == 10) return end_stream();
  write("0\r\n\r\n", [this] { end_stream(); });
}

void Connection::end_stream() {
  disarm();
  core_->counters.streams_open -= 1;
  std::exchange(stream_, nullptr)->on_lost();
  phase_ = Phase::kAnswering;
  finish_answer();
}

void Connection::beat() {
  arm(core_->options.limits.heartbeat, Timeout::kHeartbeat);
  if (!writing_) send_piece(":\n\n");
}

// ---- times ----

void Connection::arm(Duration duration, Timeout what) {
  timer_.expires_after(chrono_of(duration));
  timer_.async_wait([self = shared_from_this(), what, number = ++timer_number_](error_code error) {
    if (!error && number == self->timer_number_) self->on_timeout(what);
  });
}

void Connection::disarm() {
  timer_number_ += 1;
  error_code ignored;
  timer_.cancel(ignored);
}

void Connection::on_timeout(Timeout what) {
  switch (what) {
    case Timeout::kClose:
      if (phase_ != Phase::kLingering) core_->counters.timeouts += 1;
      return close();
    case Timeout::kAnswer503:
      core_->counters.timeouts += 1;
      keeps_alive_ = false;
      return answer(problem_response({.code = Code::kUnavailable,
                                      .message = "no answer within the server's own limit",
                                      .to_do = "look up whether the request took effect before sending it again"}));
    case Timeout::kHeartbeat: return beat();
  }
}

// ---- the queue of a stream ----

bool ConnectionStream::write(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (!open_ || ending_) return false;
  if (queued_.size() + in_flight_ + bytes.size() > static_cast<size_t>(core_->options.limits.stream_queue.count)) {
    open_ = false;
    queued_.clear();
    core_->counters.streams_dropped += 1;
    core_->post([connection = connection_] { connection->close(); });
    return false;
  }
  queued_ += bytes;
  request_flush();
  return true;
}

void ConnectionStream::close() {
  const std::lock_guard lock(mutex_);
  if (!open_ || ending_) return;
  ending_ = true;
  request_flush();
}

void ConnectionStream::request_flush() {
  if (std::exchange(flush_requested_, true)) return;
  // Always posted, never run in place: the caller holds our mutex.
  core_->post([connection = connection_] { connection->flush_stream(); });
}

bool ConnectionStream::is_open() const {
  const std::lock_guard lock(mutex_);
  return open_ && !ending_;
}

void ConnectionStream::when_room(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  if (!open_ || ending_) return;
  room_callback_ = std::move(callback);
  request_flush();
}

void ConnectionStream::when_closed(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (open_) {
      closed_callback_ = std::move(callback);
      return;
    }
  }
  callback();
}

std::string ConnectionStream::take() {
  const std::lock_guard lock(mutex_);
  flush_requested_ = false;
  in_flight_ = queued_.size();
  return std::exchange(queued_, {});
}

bool ConnectionStream::is_ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

void ConnectionStream::on_sent() {
  const std::lock_guard lock(mutex_);
  in_flight_ = 0;
}

void ConnectionStream::offer_room() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    const auto half = static_cast<size_t>(core_->options.limits.stream_queue.count) / 2;
    if (open_ && queued_.size() < half) callback = std::exchange(room_callback_, nullptr);
  }
  if (callback) callback();
}

void ConnectionStream::on_lost() {
  std::function<void()> callback;
  std::function<void()> room;
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock(mutex_);
    open_ = false;
    queued_.clear();
    callback = std::exchange(closed_callback_, nullptr);
    room = std::exchange(room_callback_, nullptr);
    connection = std::move(connection_);
  }
  if (callback) callback();
}

}  // namespace moulin::http_internal
