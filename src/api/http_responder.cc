#include "api/http_responder.h"

#include "api/problem.h"
#include "base/check.h"
#include "base/text.h"

namespace moulin {

std::string encode_event(const StreamEvent& event) {
  std::string text;
  text.reserve(event.id.size() + event.type.size() + event.data.size() + 32);
  if (!event.id.empty()) text.append("id: ").append(event.id).append("\n");
  if (!event.type.empty()) text.append("event: ").append(event.type).append("\n");
  for (const std::string_view line : split(event.data, '\n')) text.append("data: ").append(line).append("\n");
  return text.append("\n");
}

EventStream& EventStream::operator=(EventStream&& other) {
  if (this != &other) {
    close();
    sink_ = std::move(other.sink_);
  }
  return *this;
}

bool EventStream::send(const StreamEvent& event) { return sink_ && sink_->write(encode_event(event)); }

bool EventStream::write(std::string bytes) { return sink_ && sink_->write(std::move(bytes)); }

void EventStream::close() {
  if (sink_) sink_->close();
  sink_ = nullptr;
}

void EventStream::when_room(std::function<void()> callback) {
  if (sink_) sink_->when_room(std::move(callback));
}

void EventStream::when_closed(std::function<void()> callback) {
  if (sink_) {
    sink_->when_closed(std::move(callback));
  } else {
    callback();
  }
}

Responder::~Responder() {
  if (!sink_) return;
  sink_->answer(problem_response({.message = "the server dropped this request without an answer: a defect",
                                  .to_do = "report it; whether the request took effect must be looked up"}));
}

Responder& Responder::operator=(Responder&& other) {
  if (this != &other) {
    MOULIN_CHECK(!sink_, "an unanswered responder may not be overwritten");
    sink_ = std::move(other.sink_);
  }
  return *this;
}

void Responder::answer(Response response) {
  MOULIN_CHECK(sink_, "a request is answered once");
  const std::shared_ptr<AnswerSink> sink = std::move(sink_);
  sink->answer(std::move(response));
}

EventStream Responder::start_stream(StreamForm form) {
  MOULIN_CHECK(sink_, "a request is answered once");
  const std::shared_ptr<AnswerSink> sink = std::move(sink_);
  return EventStream(sink->start_stream(form));
}

void Responder::take_over(std::function<void(TakenOver)> then) {
  MOULIN_CHECK(sink_, "a request is answered once");
  const std::shared_ptr<AnswerSink> sink = std::move(sink_);
  sink->take_over(std::move(then));
}

}  // namespace moulin
