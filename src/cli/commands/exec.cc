// exec: a command beside a replica, on this terminal or through pipes.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "api/websocket.h"
#include "cli/commands/groups.h"
#include "cli/commands/options.h"
#include "cli/raw_terminal.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

constexpr char kInput = 0;
constexpr char kOutput = 1;
constexpr size_t kPiece = 16 << 10;
constexpr size_t kUnsentMax = 256 << 10;  // then we read no more input
constexpr int kSignalBase = 128;          // as a shell says it
constexpr int kNoEnd = 1;

struct Wish {
  std::vector<std::string> command;
  bool interactive = false;
  bool terminal = false;
};

// Between the descriptors of this process and the server.
class Conversation {
 public:
  Conversation(WebSocket& socket, const Wish& wish, const std::string& term)
      : socket_(socket), wish_(wish), signals_({SIGWINCH, SIGINT, SIGTERM, SIGHUP}) {
    socket_.on_message = [this](WebSocket::Kind kind, std::string_view bytes) { take(kind, bytes); };
    socket_.on_room = [this] { read_on(); };
    wire::ExecStart start{.command = wish.command};
    if (wish.terminal) {
      start.terminal = size_now();
      start.term = term;
    }
    say(wire::write(start));
    if (!wish.interactive) say(wire::write(wire::ExecControl{.end_input = true}));
    listen_to_signals();
  }

  bool given_up() const { return given_up_; }
  // Until the command has ended or the connection is lost; then the end, if it came.
  std::optional<wire::ExecEnd> run(std::string& broken) {
    std::optional<RawTerminal> raw;
    if (wish_.terminal) raw.emplace();
    broken = socket_.run();
    return end_;
  }

 private:
  static wire::TerminalSize size_now() {
    WindowSize size = window_size();
    return {.rows = size.rows, .columns = size.columns};
  }
  void say(const Json& json) { socket_.send(WebSocket::Kind::kText, write_json(json)); }

  void take(WebSocket::Kind kind, std::string_view bytes) {
    if (kind == WebSocket::Kind::kText) {
      Result<Json> json = parse_json(bytes);
      Result<wire::ExecEnd> end = json ? wire::Codec<wire::ExecEnd>::read(*json, "") : json.error();
      if (end) end_ = std::move(*end);
      return socket_.close();
    }
    if (bytes.empty()) return;
    int to = bytes.front() == kOutput ? STDOUT_FILENO : STDERR_FILENO;
    int asked = 0;
    auto may_go_on = [&](int number) {
      pass_on(number);
      asked += number == SIGWINCH ? 0 : 1;
      return asked < 2;
    };
    if (write_output(to, bytes.substr(1), signals_, may_go_on)) return;
    if (asked < 2) return socket_.close();
    given_up_ = true;  // the end of the command is behind what nobody reads
    socket_.stop();
  }

  void read_on() {
    if (!wish_.interactive || input_over_ || socket_.unsent() > kUnsentMax) return;
    socket_.when(STDIN_FILENO, WebSocket::Wait::kReadable, [this] { read_some(); });
  }

  void read_some() {
    std::optional<std::string> bytes = input_.read(kPiece);
    if (!bytes) return read_on();
    input_over_ = bytes->empty();
    if (input_over_) return say(wire::write(wire::ExecControl{.end_input = true}));
    socket_.send(WebSocket::Kind::kBinary, kInput + *bytes);
    read_on();
  }

  void listen_to_signals() {
    socket_.when(signals_.descriptor(), WebSocket::Wait::kReadable, [this] {
      while (int number = signals_.take()) pass_on(number);
      listen_to_signals();
    });
  }

  // What a terminal does not send as a key goes to the command as a signal.
  void pass_on(int number) {
    if (number != SIGWINCH) return say(wire::write(wire::ExecControl{.signal = number}));
    if (wish_.terminal) say(wire::write(wire::ExecControl{.terminal = size_now()}));
  }

  WebSocket& socket_;
  const Wish& wish_;
  SignalQueue signals_;
  SharedInput input_;
  bool input_over_ = false;
  bool given_up_ = false;  // told to end, again, while nobody read what it said
  std::optional<wire::ExecEnd> end_;
};

Result<Wish> read_wish(const Call& call) {
  Wish wish{.command = call.command, .interactive = call.has("interactive"), .terminal = call.has("tty")};
  if (wish.command.empty()) {
    return Error{.code = Code::kInvalid,
                 .message = "no command is given",
                 .to_do = "put it behind `--`: moulin exec -it NAME -- sh"};
  }
  if (wish.interactive && !has_input()) {
    return Error{.code = Code::kInvalid,
                 .message = "standard input is closed",
                 .field = "--interactive",
                 .to_do = "leave -i out: the command reads nothing"};
  }
  if (wish.terminal && !is_on_terminal()) {
    return Error{.code = Code::kInvalid,
                 .message = "standard input and output are no terminal",
                 .field = "--tty",
                 .to_do = "leave -t out: the command gets pipes"};
  }
  return wish;
}

Result<int> exec(Session& session) {
  const Call& call = session.call();
  Wish wish = TRY(read_wish(call));
  int64_t replica = 0;
  if (const std::string* text = call.value("replica")) replica = TRY(parse_integer("--replica", *text));
  WorkloadId id = TRY(named_workload(session));
  const Access* access = TRY(session.access());
  std::string target = fmt::format("/api/v1/workloads/{}/exec?replica={}", to_text(id), replica);
  std::unique_ptr<WebSocket> socket =
      TRY(session.explained(WebSocket::connect(access->endpoint, target, access->token)));
  Conversation conversation(*socket, wish, session.surroundings().variable("TERM"));
  std::string broken;
  std::optional<wire::ExecEnd> end = conversation.run(broken);
  if (conversation.given_up()) {
    session.console().write_err("moulin: nobody reads what the command says: hung up, it gets SIGHUP\n");
    return kNoEnd;
  }
  if (!end) {
    return Error{.code = Code::kUnavailable,
                 .message = "the connection to the command was lost" + (broken.empty() ? "" : ": " + broken),
                 .to_do = "it got SIGHUP, unless the server runs no more; look with `moulin show`"};
  }
  if (!end->error.empty()) session.console().write_err(fmt::format("moulin: {}\n", end->error));
  if (end->signal) return kSignalBase + *end->signal;
  return end->code.value_or(kNoEnd);
}

constexpr OptionSpec kExecOptions[] = {
    {.name = "interactive", .letter = 'i', .help = "hand on standard input"},
    {.name = "tty", .letter = 't', .help = "give it a terminal, of the size of this one"},
    {.name = "replica", .value = "N", .help = "beside this replica (unless given: 0)"},
    kProjectOption,
};

constexpr Verb kVerbs[] = {
    {.name = "exec",
     .group = "Look and steer",
     .arguments = "ID",
     .words_min = 1,
     .words_max = 1,
     .tail = Verb::Tail::kMayCommand,
     .summary = "run a command beside a running replica",
     .options = kExecOptions,
     .details = "It runs as the program does: same account, folder, environment, limits and devices,\n"
                "and ends with it. Exits as the command does; 128 and the signal that ended it; 126 or\n"
                "127 when it could not be executed.\n",
     .examples = "moulin exec llama -- nvidia-smi\nmoulin exec -it llama -- bash",
     .run = exec},
};

}  // namespace

std::span<const Verb> exec_verbs() { return kVerbs; }

}  // namespace moulin::cli
