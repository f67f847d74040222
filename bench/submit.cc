// How many submissions a second become durable over HTTP, and what part that is of a bare
// server's rate.
//
//   bench_submit [FOLDER]
//
// Work: 64 keep-alive clients, in one thread of this program and on the same cores, submit
// jobs of one GPU for five seconds; each waits for its 201, which comes after the fsync.
// The devices are taken, so that all of them wait: each is parsed, authenticated, judged,
// put in the queue and looked at by the scheduler. The limit is a server of the same HTTP
// library without any meaning: it inserts the event's bytes as a row into SQLite, by group
// commit, and answers as much. FOLDER must be on a real disk; default: the current folder.
//
// measures: submit_per_s submit_to_limit
// runs: 3
#include <fmt/format.h>
#include <sqlite3.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "api/http_server.h"
#include "http_load.h"
#include "model/event.h"
#include "model/workload_file.h"
#include "served.h"

namespace {

using namespace moulin;
using namespace moulin::bench;

constexpr size_t kClients = 64;
constexpr double kWarmSeconds = 1;
constexpr double kSeconds = 5;

constexpr std::string_view kBody = R"({"workloads":[{"run":["true"],"folder":"/tmp","resources":{"gpu":1}}]})";

// The bytes of the event that one submission becomes.
std::string row() {
  Json document = parse_json(R"({"run":["true"],"folder":"/tmp","resources":{"gpu":1}})").value();
  WorkloadSpec spec = read_workload(document, {.name = "job-6h316h3s"}).value();
  event::WorkloadSubmitted submitted{.workload = {1}, .spec = std::move(spec), .owner = UserName("admin")};
  return encode_event({.at = {}, .actor = UserName("admin"), .body = std::move(submitted)});
}

// Answers once the rows of all that came meanwhile are committed.
class BareServer {
 public:
  explicit BareServer(const std::string& path) : row_(row()) {
    MOULIN_CHECK(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK, "the database opens");
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000");
    run("CREATE TABLE events(sequence INTEGER PRIMARY KEY, bytes BLOB)");
    sqlite3_prepare_v2(handle_, "INSERT INTO events(bytes) VALUES(?)", -1, &insert_, nullptr);
    thread_ = std::thread([this] { work(); });
    server_ = HttpServer::start({.tcp = TcpAddress{}}, [this](Request, Responder responder) {
                std::lock_guard lock(mutex_);
                waiting_.push_back(std::move(responder));
                changed_.notify_one();
              }).value();
  }
  uint16_t port() const { return server_->port(); }

 private:
  void run(const char* sql) { MOULIN_CHECK(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql); }

  void work() {
    for (;;) {  // until the process is ended
      std::vector<Responder> group;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !waiting_.empty(); });
        group.swap(waiting_);
      }
      run("BEGIN IMMEDIATE");
      for (size_t i = 0; i < group.size(); ++i) {
        sqlite3_bind_blob(insert_, 1, row_.data(), static_cast<int>(row_.size()), SQLITE_STATIC);
        MOULIN_CHECK(sqlite3_step(insert_) == SQLITE_DONE, "the row is inserted");
        sqlite3_reset(insert_);
      }
      run("COMMIT");
      for (Responder& responder : group) responder.answer({.status = 201, .body = std::string(110, 'x')});
    }
  }

  const std::string row_;
  sqlite3* handle_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Responder> waiting_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

// In a process of its own, as the real one is.
class BareProcess {
 public:
  explicit BareProcess(const std::string& folder) {
    int pipe[2];
    MOULIN_CHECK(::pipe(pipe) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      BareServer server(folder + "/bare.db");
      uint16_t port = server.port();
      MOULIN_CHECK(::write(pipe[1], &port, sizeof port) == sizeof port);
      for (;;) ::pause();
    }
    MOULIN_CHECK(::read(pipe[0], &port_, sizeof port_) == sizeof port_, "the bare server serves");
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  BareProcess(const BareProcess&) = delete;
  ~BareProcess() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  uint16_t port() const { return port_; }

 private:
  pid_t child_ = 0;
  uint16_t port_ = 0;
};

LoadOutcome submissions(uint16_t port, const std::string& token) {
  HttpLoad load(port, kClients);
  std::string request = http_request("POST", "/api/v1/workloads", token, kBody);
  auto make = [&](int64_t) { return request; };
  load.run_closed(kWarmSeconds, make);
  LoadOutcome outcome = load.run_closed(kSeconds, make);
  MOULIN_CHECK(outcome.by_status.size() == 1 && outcome.count(201) > 0, "every submission is accepted");
  return outcome;
}

double rate(const LoadOutcome& outcome) { return static_cast<double>(outcome.count(201)) / outcome.seconds; }

LoadOutcome of_ours(const std::string& folder) {
  Served server(folder + "/data");
  auto whole = server.client().send({.method = Method::kPost,
                                     .path = "/api/v1/workloads",
                                     .body = R"({"workloads":[{"run":["sleep","1000"],"resources":{"gpu":8}}]})"});
  MOULIN_CHECK(whole.has_value() && whole->status == 201, "the devices are taken");
  return submissions(server.port(), server.token);
}

}  // namespace

int main(int argc, char** argv) {
  Scratch scratch(argc > 1 ? argv[1] : ".");
  LoadOutcome bare = [&] {
    BareProcess server(scratch.path());
    return submissions(server.port(), "none");
  }();
  LoadOutcome ours = of_ours(scratch.path());
  fmt::print(R"({{"name":"submit_per_s","value":{:.0f},"unit":"1/s","better":"higher","goal":10000,"limit":{:.0f},)"
             R"("others":{{"p50_ms":{:.2f},"p99_ms":{:.2f},"bare_p99_ms":{:.2f},"clients":{}}}}})"
             "\n",
             rate(ours), rate(bare), ours.percentile_ms(50), ours.percentile_ms(99), bare.percentile_ms(99), kClients);
  fmt::print(R"({{"name":"submit_to_limit","value":{:.3f},"unit":"ratio","better":"higher","goal":0.5,"limit":1.0}})"
             "\n",
             rate(ours) / rate(bare));
}
