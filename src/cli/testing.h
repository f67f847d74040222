// What the tests of the command line share: a server that says what a test wants, a
// console in memory, and texts that are compared with files.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "api/http_server.h"
#include "api/problem.h"
#include "api/wire_types.h"
#include "cli/program.h"

namespace moulin::cli::testing {

// The text of tests/snapshots/cli/NAME.txt must be `text`. With MOULIN_REWRITE_SNAPSHOTS
// set the file is written instead; look at the difference before you commit it.
inline void check_snapshot(const std::string& name, const std::string& text) {
  std::string path = "tests/snapshots/cli/" + name + ".txt";
  if (std::getenv("MOULIN_REWRITE_SNAPSHOTS") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(),
                  "run from the root of the sources, or make the file with MOULIN_REWRITE_SNAPSHOTS=1: " << path);
  std::ostringstream expected;
  expected << file.rdbuf();
  INFO("snapshot " << path << " (MOULIN_REWRITE_SNAPSHOTS=1 writes it anew)");
  CHECK(text == expected.str());
}

// The moment at which all samples are looked at.
inline WallTime sample_now() { return parse_wall_time("2026-03-01T12:00:00Z").value(); }
inline View sample_view(int32_t width = 0) { return {.width = width, .now = sample_now()}; }

// A wire type from JSON; what is left out of `text` stays at its default.
template <class T>
T sample(std::string_view text) {
  Result<Json> json = parse_json(text);
  REQUIRE_MESSAGE(json.has_value(), (json ? "" : json.error().to_text()));
  Result<T> value = wire::read<T>(*json);
  REQUIRE_MESSAGE(value.has_value(), (value ? "" : value.error().to_text()));
  return *value;
}

// Answers "GET /api/v1/nodes" and so on. Several answers for one call are given in turn,
// the last one again and again.
class FakeServer {
 public:
  using Answer = std::function<void(Request, Responder)>;

  FakeServer() {
    HttpServerOptions options;
    options.tcp = TcpAddress{};
    auto server = HttpServer::start(std::move(options), [this](Request request, Responder responder) {
      handle(std::move(request), std::move(responder));
    });
    REQUIRE(server.has_value());
    server_ = std::move(*server);
  }

  std::string url() const { return server_->url(); }

  void on(const std::string& call, Answer answer) {
    std::scoped_lock lock(mutex_);
    answers_[call].push_back(std::move(answer));
  }
  void on(const std::string& call, int status, std::string body) {
    on(call, [status, body = std::move(body)](const Request&, Responder responder) {
      responder.answer({.status = status, .body = body});
    });
  }
  void refuse(const std::string& call, const Error& error) {
    on(call, [error](const Request&, Responder responder) { responder.answer(problem_response(error)); });
  }
  // A stream of events that then ends, in good order as when the server goes down.
  void stream(const std::string& call, std::vector<StreamEvent> events) {
    on(call, [events = std::move(events)](const Request&, Responder responder) {
      EventStream out = responder.start_stream(StreamForm::kEvents);
      for (const StreamEvent& event : events) out.send(event);
    });
  }

  // The requests of that call so far.
  std::vector<Request> requests(const std::string& call) {
    std::scoped_lock lock(mutex_);
    return requests_[call];
  }

 private:
  void handle(Request request, Responder responder) {
    std::string call(to_text(request.method));
    call += " ";
    for (const std::string& segment : request.segments) call += "/" + segment;
    Answer answer;
    {
      std::scoped_lock lock(mutex_);
      size_t round = requests_[call].size();
      requests_[call].push_back(request);
      auto found = answers_.find(call);
      if (found != answers_.end()) answer = found->second[std::min(round, found->second.size() - 1)];
    }
    if (answer) {
      answer(std::move(request), std::move(responder));
    } else {
      responder.answer(
          problem_response(Error{.code = Code::kNotFound, .message = "the test has no answer to " + call}));
    }
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<Answer>> answers_;
  std::map<std::string, std::vector<Request>> requests_;
  std::unique_ptr<HttpServer> server_;
};

// An interrupt that a test makes: a pipe that becomes readable.
class FakeInterrupts : public Interrupts {
 public:
  explicit FakeInterrupts(int read_end, std::atomic<int>& signal) : read_end_(read_end), signal_(signal) {}
  int descriptor() const override { return read_end_; }
  int take() override;
  bool wait(Duration) override { return signal_ != 0; }

 private:
  int read_end_;
  std::atomic<int>& signal_;
};

// One run of the program against a server, and what it said.
class Run {
 public:
  Run();
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Run& with_server(const FakeServer& server);
  Run& with_variable(const std::string& name, const std::string& value);
  Run& with_file(const std::string& path, const std::string& text);
  Run& with_person(std::vector<std::string> answers);  // a keyboard, and what is typed
  Run& with_terminal(const View& view);                // what both outputs are
  void interrupt(int signal);                          // from any thread

  int operator()(std::vector<std::string_view> arguments);
  Json json() const { return parse_json(out).value(); }

  // A file as the program left it; empty when there is none.
  std::string file(const std::string& path) const { return files_.contains(path) ? files_.at(path) : ""; }

  std::string out;
  std::string err;

 private:
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> files_;
  std::vector<std::string> typed_;
  bool has_person_ = false;
  View view_;
  int pipe_[2] = {-1, -1};
  std::atomic<int> signal_ = 0;
};

}  // namespace moulin::cli::testing
