#include "shim/protocol.h"

#include <doctest/doctest.h>

#include "shim/record.h"

namespace moulin {
namespace {

// A launch file of a version to come.
struct Later {
  std::string token = "t";
  std::vector<std::string> argv = {"true"};
  int64_t news = 7;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "token", self.token);
    visit(2, "argv", self.argv);
    visit(63, "news", self.news);
  }
};

TEST_CASE("messages come out of a stream as they went in, wherever it is cut") {
  ShimState state{.at = {5}, .started = true, .pid = 42, .checkpoints = 3};
  state.exit = ShimExit{.signal = 9, .error = "x", .limit_hit = true};
  state.usage.pids = {1, 2, 3};
  std::string stream = frame_of(MessageKind::kHello, Hello{.token = "t"}) + frame(MessageKind::kAsk) +
                       frame_of(MessageKind::kState, state);
  FrameReader reader;
  std::vector<Message> messages;
  for (char byte : stream) {
    reader.add({&byte, 1});
    Result<std::optional<Message>> message = reader.next();
    REQUIRE(message);
    if (*message) messages.push_back(**message);
  }
  REQUIRE(messages.size() == 3);
  CHECK(decode<Hello>(messages[0].body)->token == "t");
  CHECK(messages[1].kind == MessageKind::kAsk);
  CHECK(decode<ShimState>(messages[2].body).value() == state);
}

TEST_CASE("frames that are empty or too long are refused") {
  FrameReader empty;
  empty.add(std::string(4, '\0'));
  CHECK(empty.next().error().code == Code::kInvalid);
  FrameReader huge;
  huge.add("\xff\xff\xff\x7f");
  CHECK(huge.next().error().code == Code::kTooLarge);
}

TEST_CASE("secrets are compared") {
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "ab"));
  CHECK(same_secret("", ""));
}

TEST_CASE("launch files") {
  ShimLaunch launch{.token = "t", .argv = {"echo", "\xff"}, .environment = {"A=1"}, .working_folder = "/"};
  launch.limits.memory = gibibytes(3);
  CHECK(decode_launch(encode_launch(launch)).value() == launch);
  CHECK(decode_launch("").error().code == Code::kInvalid);
  CHECK(decode_launch("moulin-launch 9\n").error().code == Code::kRefused);
  CHECK(decode_launch("moulin-launch 1\n\xff\xff").error().code == Code::kInvalid);
  CHECK(decode_launch(encode_launch({.token = "t"})).error().message.contains("no command"));
  ShimLaunch nul = launch;
  nul.environment = {std::string("A=\0", 3)};
  CHECK(decode_launch(encode_launch(nul)).error().message.contains("NUL"));
}

TEST_CASE("a later version's fields are passed over") {
  CHECK(decode_launch(encode_record("launch", Later{})).value().token == "t");
}

}  // namespace
}  // namespace moulin
