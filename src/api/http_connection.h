// One connection of the HTTP server, and what all connections share. Private to
// http_server.cc and http_connection.cc, which with websocket.cc alone include Asio.
//
// Everything here runs on the I/O thread, except where a comment says otherwise.
#pragma once

#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "api/http_parser.h"
#include "api/http_server.h"

namespace moulin::http_internal {

namespace asio = boost::asio;
using Socket = asio::generic::stream_protocol::socket;
using boost::system::error_code;

inline std::chrono::microseconds chrono_of(Duration duration) { return std::chrono::microseconds(duration.us); }

class Connection;

struct AtomicCounters {
  std::atomic<int64_t> connections_accepted{0};
  std::atomic<int64_t> connections_open{0};
  std::atomic<int64_t> connections_refused{0};
  std::atomic<int64_t> requests{0};
  std::atomic<int64_t> refusals{0};
  std::atomic<int64_t> timeouts{0};
  std::atomic<int64_t> buffered_bytes{0};
  std::atomic<int64_t> streams_open{0};
  std::atomic<int64_t> streams_dropped{0};
};

// Lives until the last connection, responder and stream that points to it is gone.
struct ServerCore {
  ServerCore(HttpServerOptions the_options, HttpHandler the_handler)
      : options(std::move(the_options)), handler(std::move(the_handler)) {}

  const HttpServerOptions options;
  const HttpHandler handler;
  AtomicCounters counters;

  asio::io_context io{1};
  std::set<std::shared_ptr<Connection>> connections;
  bool draining = false;
  std::function<void()> on_drained;  // when the last connection is gone while draining

  // From any thread; dropped after the end.
  template <class Task>
  void post(Task task) {
    const std::lock_guard lock(mutex);
    if (!ended) asio::post(io, std::move(task));
  }
  // The same, but at once when already on the I/O thread.
  template <class Task>
  void run_on_io(Task task) {
    io.get_executor().running_in_this_thread() ? task() : post(std::move(task));
  }

  std::mutex mutex;
  bool ended = false;  // guarded by mutex: the thread is gone, nothing may be queued
};

// The queue between the threads that write to a stream and the connection that sends it.
class ConnectionStream final : public StreamSink {
 public:
  ConnectionStream(std::shared_ptr<ServerCore> core, std::shared_ptr<Connection> connection)
      : core_(std::move(core)), connection_(std::move(connection)) {}

  // Any thread.
  bool write(std::string bytes) override;
  void close() override;
  bool is_open() const override;
  void when_room(std::function<void()> callback) override;
  void when_closed(std::function<void()> callback) override;

  // I/O thread. Takes what is queued; the bytes count as queued until on_sent().
  std::string take();
  void on_sent();
  void offer_room();       // runs the when_room callback if there is room
  bool is_ending() const;  // closed by the writer; what is queued is still to be sent
  void on_lost();          // the connection is gone: callbacks run, the sink is dead

 private:
  void request_flush();  // with mutex_ held

  const std::shared_ptr<ServerCore> core_;
  mutable std::mutex mutex_;
  std::shared_ptr<Connection> connection_;  // null once over
  std::string queued_;
  size_t in_flight_ = 0;
  bool open_ = true;
  bool ending_ = false;
  bool flush_requested_ = false;
  std::function<void()> room_callback_;
  std::function<void()> closed_callback_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerCore> core, Socket socket, Peer peer);

  void start();
  // Too many connections: says so and closes.
  void start_refused();
  // Closes when idle, else after the answer under way; ends a stream.
  void drain();
  void close();

  // The answer to the request under way.
  void answer(Response response);
  void start_stream(std::shared_ptr<ConnectionStream> stream, StreamForm form);
  void flush_stream();
  void take_over(std::function<void(TakenOver)> then);

 private:
  enum class Phase {
    kIdle,       // between requests
    kReading,    // part of a request has arrived
    kHandling,   // the handler has it
    kAnswering,  // the answer is being written
    kStreaming,  // a stream is open
    kLeaving,    // about to be handed over
    kLingering,  // refused; the rest is read and thrown away so that the refusal arrives
    kClosed,
  };

  void read();
  void on_read(error_code error, size_t count);
  void on_read_error(error_code error);
  void parse();
  bool accept_head();  // false: refused, or waiting for the 100 to be written
  Status check_head(const RequestHead& head);
  Status make_room(const RequestHead& head);
  void hold(int64_t bytes);  // of memory, instead of what was held before
  void dispatch();
  void refuse(const ParseFailure& failure);
  void write(std::string bytes, std::function<void()> then);
  void write_some();
  void on_written(error_code error, size_t count);
  void finish_answer();
  void linger();
  void beat();
  void send_piece(std::string piece);
  void end_stream();
  void hand_over();

  enum class Timeout { kClose, kAnswer503, kHeartbeat };
  void arm(Duration duration, Timeout what);  // replaces what was armed before
  void disarm();
  void on_timeout(Timeout what);

  std::string answer_head(const Response& response) const;
  std::string_view waiting() const { return std::string_view(in_).substr(in_start_); }

  const std::shared_ptr<ServerCore> core_;
  Socket socket_;
  const Peer peer_;
  asio::steady_timer timer_;        // of the phase
  asio::steady_timer write_timer_;  // of a stalled reader
  // A timer that is cancelled or set anew may have its callback queued already: the
  // callback looks whether its number is still the newest.
  uint64_t timer_number_ = 0;
  uint64_t write_number_ = 0;
  Phase phase_ = Phase::kIdle;

  std::array<char, 8192> piece_{};
  std::string in_;  // arrived and not yet parsed, from in_start_ on
  size_t in_start_ = 0;
  bool reading_ = false;
  std::optional<RequestParser> parser_;
  Target target_;
  Method method_ = Method::kGet;
  size_t discarded_ = 0;

  // Of the request under way.
  int version_ = 11;
  bool keeps_alive_ = true;
  bool head_only_ = false;
  int64_t held_bytes_ = 0;  // counted for its body, then for its answer

  std::string out_;
  size_t out_start_ = 0;
  std::function<void()> then_;
  bool writing_ = false;

  std::function<void(TakenOver)> taker_;
  std::shared_ptr<ConnectionStream> stream_;
  StreamForm form_ = StreamForm::kPlain;
};

}  // namespace moulin::http_internal
