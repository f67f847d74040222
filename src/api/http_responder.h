// How a handler answers: once, from any thread, with a response or with a stream.
//
//   void handle(Request request, Responder responder) {
//     reactor.submit(std::move(command), [responder = std::move(responder)](Outcome o) mutable {
//       responder.answer(to_response(o));       // on the reactor's thread
//     });
//   }
//
// A responder that is destroyed without an answer answers 500, so that no client waits
// for ever for a handler that forgot it. Answering twice is a bug and aborts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/http_types.h"
#include "api/socket.h"

namespace moulin {

// One server-sent event. `id` comes back as Last-Event-ID when a client reconnects.
struct StreamEvent {
  std::string id{};    // may be empty; no line break, no NUL
  std::string type{};  // may be empty; no line break
  std::string data{};  // may have several lines; no carriage return
};

// The event as it goes over the wire.
std::string encode_event(const StreamEvent& event);

enum class StreamForm {
  kEvents,  // text/event-stream; the server adds heartbeats
  kPlain,   // text/plain in pieces, e.g. a log
};

// What a server puts behind an EventStream. All calls are thread-safe and never block.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual bool write(std::string bytes) = 0;
  virtual void close() = 0;
  virtual bool is_open() const = 0;
  virtual void when_room(std::function<void()> callback) = 0;
  virtual void when_closed(std::function<void()> callback) = 0;
};

// The sending end of a stream. Thread-safe; move-only; destroying it ends the stream in
// good order.
class EventStream {
 public:
  EventStream() = default;
  explicit EventStream(std::shared_ptr<StreamSink> sink) : sink_(std::move(sink)) {}
  ~EventStream() { close(); }
  EventStream(EventStream&&) = default;
  EventStream& operator=(EventStream&& other);

  // Queues bytes. False when the stream is over: the client has gone, or was dropped
  // because more than HttpLimits::stream_queue waited. The caller stops then.
  bool send(const StreamEvent& event);
  bool write(std::string bytes);

  // Sends what is queued and ends the stream. Later calls do nothing.
  void close();
  bool is_open() const { return sink_ && sink_->is_open(); }

  // Calls back once, on the I/O thread, when less than half of the queue is in use: for
  // a producer that reads a file and need not be dropped. Never called after the end.
  void when_room(std::function<void()> callback);
  // Calls back once, on the I/O thread, when the stream is over for whatever reason; at
  // once when it is over already. Must not destroy the stream's last user by surprise:
  // the callback owns what it captures.
  void when_closed(std::function<void()> callback);

 private:
  std::shared_ptr<StreamSink> sink_;
};

// A connection that is no longer the server's: whoever took it over reads, writes and
// closes it.
struct TakenOver {
  Descriptor socket{};       // does not block
  std::string read_ahead{};  // what came behind the request already
};

// What a server puts behind a Responder. Exactly one of the three is called, once, from
// any thread.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void answer(Response response) = 0;
  virtual std::shared_ptr<StreamSink> start_stream(StreamForm form) = 0;
  virtual void take_over(std::function<void(TakenOver)> then) = 0;
};

class Responder {
 public:
  explicit Responder(std::shared_ptr<AnswerSink> sink) : sink_(std::move(sink)) {}
  ~Responder();
  Responder(Responder&&) = default;
  Responder& operator=(Responder&& other);

  void answer(Response response);
  // Answers 200 and the head of a stream. Too many streams open: the client gets 429
  // and the returned stream is closed already.
  EventStream start_stream(StreamForm form);
  // Hands over the connection for another protocol (Upgrade): `then` runs on the I/O thread,
  // or never when the client has gone. Nothing of an answer has been written.
  void take_over(std::function<void(TakenOver)> then);
  bool is_answered() const { return sink_ == nullptr; }
  // For who answers in its place; it counts as answered.
  std::shared_ptr<AnswerSink> take_sink() { return std::move(sink_); }

 private:
  std::shared_ptr<AnswerSink> sink_;
};

// Runs on the I/O thread and must return soon: it parses, checks and passes on.
using HttpHandler = std::function<void(Request, Responder)>;

}  // namespace moulin
