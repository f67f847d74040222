#include "engine/local/local_exec.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/local/shim_process.h"
#include "shim/protocol.h"

namespace moulin {
namespace {

constexpr int kReadsMax = 16;
constexpr size_t kInputPiece = 64 << 10;  // of one frame

constexpr const char* kTooOld =
    "the supervisor of this replica is too old for exec: an earlier version of Moulin started it. Stop the workload "
    "and "
    "run it again";
constexpr const char* kGone = "the supervisor of this replica has gone, and the replica with it";

class LocalExec : public ExecChannel {
 public:
  LocalExec(Fd socket, const std::string& token, const ExecCommand& command) : socket_(std::move(socket)) {
    ExecRequest request{.argv = command.argv, .term = command.term};
    if (command.terminal) request.terminal = {.rows = command.terminal->rows, .columns = command.terminal->columns};
    request_ = std::move(request);
    send(frame_of(MessageKind::kHello, Hello{.token = token}));
  }

  // Hangs up whoever else may hold a duplicate.
  ~LocalExec() override { ::shutdown(socket_.number(), SHUT_RDWR); }

  int descriptor() const override { return socket_.number(); }
  bool wants_to_write() const override { return !unsent_.empty(); }
  size_t waiting() const override { return unsent_.size() + early_.size(); }

  void input(std::string_view bytes) override {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kInputPiece))) {
      send_later(frame(MessageKind::kInput, bytes.substr(0, kInputPiece)));
    }
  }
  void end_input() override { send_later(frame(MessageKind::kInput)); }
  void resize(const TerminalShape& shape) override {
    send_later(frame_of(MessageKind::kResize, TerminalSize{.rows = shape.rows, .columns = shape.columns}));
  }
  void signal(int32_t number) override { send_later(frame_of(MessageKind::kSignal, ExecSignal{.number = number})); }

  News serve() override {
    News news;
    write();
    std::array<char, 16 << 10> piece;
    for (int reads = 0; reads < kReadsMax && !news.outcome; ++reads) {
      ssize_t got = ::recv(socket_.number(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) {
        news.outcome = ExecOutcome{.error = kGone};
        break;
      }
      reader_.add({piece.data(), static_cast<size_t>(got)});
      take_messages(news);
    }
    return news;
  }

 private:
  // What is said before the shim let us in follows the request.
  void send_later(std::string frame) {
    if (asked_)
      send(std::move(frame));
    else
      early_ += frame;
  }
  void send(std::string frame) {
    unsent_ += frame;
    write();
  }
  void write() {
    while (!unsent_.empty()) {
      ssize_t put = ::send(socket_.number(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return;  // a broken connection shows when we read
      unsent_.erase(0, static_cast<size_t>(put));
    }
  }

  void take_messages(News& news) {
    while (!news.outcome) {
      Result<std::optional<Message>> message = reader_.next();
      if (!message)
        news.outcome = ExecOutcome{.error = kGone};
      else if (!*message)
        return;
      else
        take(**message, news);
    }
  }

  void take(const Message& message, News& news) {
    if (message.kind == MessageKind::kOutput) {
      news.output += message.body;
    } else if (message.kind == MessageKind::kErrors) {
      news.errors += message.body;
    } else if (message.kind == MessageKind::kWelcome) {
      Result<Welcome> welcome = decode<Welcome>(message.body);
      if (!welcome || welcome->version < kExecVersion)
        news.outcome = ExecOutcome{.error = kTooOld};
      else
        ask();
    } else if (message.kind == MessageKind::kRefused) {
      Result<Refused> refused = decode<Refused>(message.body);
      news.outcome = ExecOutcome{.error = "the supervisor of this replica does not let us in: " +
                                          (refused ? refused->reason : "no reason given")};
    } else if (message.kind == MessageKind::kExecEnded) {
      Result<ExecEnd> end = decode<ExecEnd>(message.body);
      news.outcome = end ? ExecOutcome{.code = end->code, .signal = end->signal, .error = end->error}
                         : ExecOutcome{.error = kGone};
    }
    // States came before the request was taken.
  }

  void ask() {
    asked_ = true;
    send(frame_of(MessageKind::kExec, request_) + std::exchange(early_, {}));
  }

  Fd socket_;
  ExecRequest request_;
  bool asked_ = false;
  std::string early_;
  std::string unsent_;
  FrameReader reader_;
};

}  // namespace

Result<std::unique_ptr<ExecChannel>> open_exec_channel(const Fd& folder, const std::string& token,
                                                       const ExecCommand& command) {
  Fd socket = TRY(connect_in(folder));
  return std::unique_ptr<ExecChannel>(std::make_unique<LocalExec>(std::move(socket), token, command));
}

}  // namespace moulin
