#include "shim/exec_sessions.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "shim/files.h"

namespace moulin {
namespace {

constexpr int kReadsMax = 16;  // a turn; others want theirs
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;
constexpr const char* kReplicaEnded = "the replica has ended";

struct Pipe {
  Fd reads{};
  Fd writes{};
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe", errno);
  return Pipe{.reads = Fd(ends[0]), .writes = Fd(ends[1])};
}

// Our end never blocks; that of the command does, as programs expect.
void unblock(const Fd& file) { ::fcntl(file.number(), F_SETFL, ::fcntl(file.number(), F_GETFL) | O_NONBLOCK); }

void resize(const Fd& terminal, const TerminalSize& size) {
  auto cells = [](int32_t count) { return static_cast<unsigned short>(std::clamp(count, 1, 65'535)); };
  winsize window{.ws_row = cells(size.rows), .ws_col = cells(size.columns), .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(terminal.number(), TIOCSWINSZ, &window);
}

// The master's end; `slave` is for the command and belongs to its account.
Result<Fd> open_terminal(const TerminalSize& size, const std::optional<Account>& account, Fd& slave) {
  Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || ::grantpt(master.number()) != 0 || ::unlockpt(master.number()) != 0) {
    return system_error("make a terminal", errno);
  }
  std::array<char, 64> name{};
  if (::ptsname_r(master.number(), name.data(), name.size()) != 0) return system_error("name a terminal", errno);
  slave = Fd(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) return system_error("open a terminal", errno);
  constexpr mode_t kTerminalMode = 0620;
  bool given = !account || (::fchown(slave.number(), account->uid, account->gid) == 0 &&
                            ::fchmod(slave.number(), kTerminalMode) == 0);
  if (!given) return system_error("give a terminal to its account", errno);
  resize(master, size);
  return master;
}

void set(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(fmt::format("{}={}", name, value));
}

Result<Fd> launch_file(const ShimLaunch& launch) {
  std::string bytes = encode_launch(launch);
  TRY(decode_launch(bytes));  // what the guard would refuse is refused here, with a sentence
  Fd file(::memfd_create("exec", MFD_CLOEXEC));
  if (!file) return system_error("make a file in memory", errno);
  TRY(write_all(file, bytes));
  return file;
}

}  // namespace

ExecSessions::Session* ExecSessions::find(int64_t client) {
  auto session = std::ranges::find(sessions_, client, &Session::client);
  return session == sessions_.end() ? nullptr : &*session;
}

void ExecSessions::refuse(int64_t client, std::string error) {
  control_.send(client, frame_of(MessageKind::kExecEnded, ExecEnd{.error = std::move(error)}));
  control_.hang_up(client);
}

void ExecSessions::take(const ExecMessage& message, const std::optional<Place>& place) {
  const std::string& body = message.message.body;
  Session* session = find(message.client);
  if (message.message.kind == MessageKind::kExec) {
    Result<ExecRequest> request = decode<ExecRequest>(body);
    if (!request) return refuse(message.client, "a damaged message");
    return begin(message.client, *request, place);
  }
  if (session == nullptr) return;
  if (message.message.kind == MessageKind::kInput) {
    if (body.empty())
      session->input_over = true;
    else
      session->input += body;
    write_input(*session);
  } else if (message.message.kind == MessageKind::kResize) {
    Result<TerminalSize> size = decode<TerminalSize>(body);
    if (size && session->terminal) resize(session->out, *size);
  } else if (message.message.kind == MessageKind::kSignal && place) {
    Result<ExecSignal> signal = decode<ExecSignal>(body);
    bool known = signal && signal->number > 0 && signal->number < NSIG;
    if (known) {
      send_call(place->guard, {.order = GuardOrder::kSignal, .exec = session->number, .signal = signal->number});
    }
  }
}

void ExecSessions::begin(int64_t client, const ExecRequest& request, const std::optional<Place>& place) {
  if (!place) return refuse(client, "the replica does not run any more, or does not run yet");
  if (sessions_.size() == kSessionsMax) {
    return refuse(client, fmt::format("{} commands run beside this replica already; end one first", kSessionsMax));
  }
  Session& session = sessions_.emplace_back();
  session.client = client;
  session.number = next_number_++;
  Status started = start(session, request, *place);
  if (started) return;
  sessions_.pop_back();
  refuse(client, fmt::format("the command could not be started: {}", started.error().to_text()));
}

Status ExecSessions::start(Session& session, const ExecRequest& request, const Place& place) {
  session.launch = place.launch;
  session.launch.argv = request.argv;
  session.terminal = request.terminal.has_value();
  if (session.terminal && !request.term.empty()) set(session.launch.environment, "TERM", request.term);
  Fd launch = TRY(launch_file(session.launch));
  Pipe failure = TRY(make_pipe());
  Fd slave;
  Pipe in;
  Pipe out;
  Pipe err;
  if (session.terminal) {
    session.out = TRY(open_terminal(*request.terminal, place.account, slave));
  } else {
    in = TRY(make_pipe());
    out = TRY(make_pipe());
    err = TRY(make_pipe());
    session.in = std::move(in.writes);
    session.out = std::move(out.reads);
    session.err = std::move(err.reads);
  }
  session.failure = std::move(failure.reads);
  for (const Fd* ours : {&session.in, &session.out, &session.err, &session.failure}) {
    if (*ours) unblock(*ours);
  }
  auto end = [&](const Fd& piped) { return session.terminal ? slave.number() : piped.number(); };
  bool sent = send_exec(place.guard, {.order = GuardOrder::kExec, .exec = session.number, .terminal = session.terminal},
                        {.launch = launch.number(),
                         .in = end(in.reads),
                         .out = end(out.writes),
                         .err = end(err.writes),
                         .failure = failure.writes.number()});
  if (!sent) return system_error("ask the guard to start a command", errno);
  return {};
}

void ExecSessions::client_gone(int64_t client, const Guard& guard) {
  Session* session = find(client);
  if (session == nullptr) return;
  if (guard.notes) send_call(guard, {.order = GuardOrder::kSignal, .exec = session->number, .signal = SIGHUP});
  session->client = kNobody;
  session->input.clear();
  session->in.reset();
  // Also for what it has in the foreground: the kernel tells it of a terminal that is gone.
  if (session->terminal) session->out.reset();
}

void ExecSessions::ended(const GuardNote& note, Beside beside) {
  auto session = std::ranges::find(sessions_, note.exec, &Session::number);
  if (session == sessions_.end()) return;
  take_failure(*session);
  ExecEnd& end = session->end.has_value() ? *session->end : session->end.emplace();
  if (note.wait_status == -1 && note.failure.number == 0)
    end.error = kReplicaEnded;
  else if (note.wait_status == -1)
    end.error = failure_text(note.failure, session->launch);
  else if (WIFSIGNALED(note.wait_status))
    end.signal = WTERMSIG(note.wait_status);
  else if (end.error.empty())
    end.code = WEXITSTATUS(note.wait_status);
  if (end.signal == SIGKILL && beside == Beside::kNothing) end.error = kReplicaEnded;
}

void ExecSessions::end_all() {
  for (Session& session : sessions_) {
    if (!session.end) session.end.emplace().error = kReplicaEnded;
  }
  pump();
  for (Session& session : sessions_) {
    control_.send(session.client, frame_of(MessageKind::kExecEnded, *session.end));
    control_.hang_up(session.client);
  }
  sessions_.clear();
}

void ExecSessions::take_failure(Session& session) {
  if (!session.failure) return;
  LaunchFailure failure;
  ssize_t got = ::read(session.failure.number(), &failure, sizeof failure);
  if (got < 0) return;
  session.failure.reset();
  if (got != static_cast<ssize_t>(sizeof failure)) return;
  ExecEnd& end = session.end.emplace();
  end.error = failure_text(failure, session.launch);
  end.code = failure.number == ENOENT ? kNotFound : kCannotRun;
}

void ExecSessions::add_to(std::vector<pollfd>& waits) const {
  auto wait = [&waits](const Fd& file, short events) {
    if (file && events != 0) waits.push_back({.fd = file.number(), .events = events, .revents = 0});
  };
  for (const Session& session : sessions_) {
    short reads = may_send(session) ? POLLIN : 0;
    bool writes = !session.input.empty();
    wait(session.out, static_cast<short>(reads | (session.terminal && writes ? POLLOUT : 0)));
    wait(session.err, reads);
    wait(session.in, writes ? POLLOUT : 0);
  }
}

void ExecSessions::write_input(Session& session) {
  const Fd& to = session.terminal ? session.out : session.in;
  while (to && !session.input.empty()) {
    ssize_t put = ::write(to.number(), session.input.data(), session.input.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) break;
    if (put < 0)
      session.input.clear();  // nobody reads it any more
    else
      session.input.erase(0, static_cast<size_t>(put));
  }
  if (!to) session.input.clear();
  bool full = session.input.size() >= kWaitingMax;
  control_.read_on(session.client, full ? ControlSocket::Reading::kHeld : ControlSocket::Reading::kOn);
  if (session.input_over && session.input.empty()) session.in.reset();
}

void ExecSessions::read_output(Session& session, Fd& from, MessageKind kind) {
  std::array<char, kPieceMax> piece;
  for (int reads = 0; from && reads < kReadsMax && may_send(session); ++reads) {
    ssize_t got = ::read(from.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    // EIO: nobody holds the other end of the terminal.
    if (got <= 0) return from.reset();
    if (session.client == kNobody) {
      session.unheard += static_cast<size_t>(got);
      if (session.unheard > kWaitingMax) return from.reset();  // then it gets SIGPIPE
      continue;
    }
    control_.send(session.client, frame(kind, {piece.data(), static_cast<size_t>(got)}));
  }
}

void ExecSessions::pump() {
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    take_failure(*session);
    write_input(*session);
    read_output(*session, session->out, MessageKind::kOutput);
    read_output(*session, session->err, MessageKind::kErrors);
    // Processes that it left behind may hold its output open: what is there now is all.
    bool over = session->end && may_send(*session);
    if (!over) {
      ++session;
      continue;
    }
    control_.send(session->client, frame_of(MessageKind::kExecEnded, *session->end));
    control_.hang_up(session->client);
    session = sessions_.erase(session);
  }
}

}  // namespace moulin
