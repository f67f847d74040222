#include "engine/local/log_reader.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "engine/local/testing.h"
#include "shim/files.h"
#include "shim/log_writer.h"

namespace moulin {
namespace {

using testing::EngineHarness;
using testing::eventually;
using testing::TemporaryFolder;

// A folder with a writer for each stream and times that we choose.
struct Logs {
  explicit Logs(Bytes total = {})
      : fd(open_folder(folder.path()).value()),
        out(fd, {.stream = LogStream::kOut, .total_max = total}),
        err(fd, {.stream = LogStream::kErr, .total_max = total}) {}
  LogReader reader(const LogRequest& request = {}) {
    return LogReader::open(open_folder(folder.path()).value(), request).value();
  }
  TemporaryFolder folder;
  Fd fd;
  LogWriter out;
  LogWriter err;
};

std::string texts(const LogChunk& chunk) {
  std::string all;
  for (const LogLine& line : chunk.lines) all += line.text + (line.end == LineEnd::kGoesOn ? "+" : ";");
  return all;
}

TEST_CASE("both streams come in order of time, and one alone when asked") {
  Logs logs;
  logs.out.add("a\n", 10);
  logs.err.add("b\n", 20);
  logs.out.add("c\nd\n", 30);
  logs.err.add("e\n", 40);
  CHECK(texts(logs.reader().read_more()) == "a;b;c;d;e;");
  CHECK(texts(logs.reader({.stream = LogStream::kErr}).read_more()) == "b;e;");
  CHECK(logs.reader().read_more().lines[1] ==
        LogLine{.time_us = 20, .stream = LogStream::kErr, .end = LineEnd::kNewline, .text = "b"});
}

TEST_CASE("a reader goes on as the log grows, also over rotated files") {
  Logs logs({16'384});
  LogReader reader = logs.reader();
  std::string expected;
  std::string seen;
  for (int i = 0; i < 2000; ++i) {
    logs.out.add(fmt::format("line {}\n", i), i);
    expected += fmt::format("line {};", i);
    if (i % 7 == 0) seen += texts(reader.read_more());
  }
  seen += texts(reader.read_more());
  CHECK(seen == expected);
  CHECK(reader.read_more().lines.empty());
}

TEST_CASE("a cursor goes on in another reader, and survives as text") {
  Logs logs;
  logs.out.add("a\nb\nc\n", 1);
  logs.err.add("x\ny\n", 2);
  LogReader first = logs.reader();
  std::string seen = texts(first.read_more({1}));
  CHECK(seen == "a;");
  std::string cursor = to_text(first.cursor());
  LogReader second = logs.reader({.cursor = parse_log_cursor(cursor).value()});
  CHECK(texts(second.read_more()) == "b;c;x;y;");
  for (const char* bad : {"", "1.2", "1.2-3", "1.2-3.4-5.6", "a.1-2.3", "-1.2-3.4", "1.2-3.99999999999999999999"}) {
    CHECK_FALSE(parse_log_cursor(bad));
  }
}

TEST_CASE("the tail is that of both streams together, over rotated files") {
  Logs logs({65'536});
  for (int i = 0; i < 1000; ++i) (i % 3 == 0 ? logs.err : logs.out).add(fmt::format("{}\n", i), i);
  for (int64_t count : {0, 1, 2, 10, 500}) {
    std::string expected;
    for (int64_t i = 1000 - count; i < 1000; ++i) expected += fmt::format("{};", i);
    LogReader reader = logs.reader({.tail = count});
    std::string seen;
    for (LogChunk chunk = reader.read_more(); true; chunk = reader.read_more()) {
      seen += texts(chunk);
      if (!chunk.more) break;
    }
    CHECK(seen == expected);
  }
  LogReader reader = logs.reader({.tail = 0});
  CHECK(reader.read_more().lines.empty());
  logs.out.add("new\n", 1000);
  CHECK(texts(reader.read_more()) == "new;");
  CHECK_FALSE(LogReader::open(open_folder(logs.folder.path()).value(), {.tail = -1}));
  CHECK(logs.reader({.tail = kTailMax}).read_more().lines.size() > 900);
}

TEST_CASE("lines since a time") {
  Logs logs({16'384});
  for (int i = 0; i < 1000; ++i) logs.out.add(fmt::format("{}\n", i), i * 10);
  LogChunk chunk = logs.reader({.since_us = 9'905}).read_more();
  CHECK(texts(chunk) == "991;992;993;994;995;996;997;998;999;");
  CHECK(logs.reader({.since_us = 1'000'000}).read_more().lines.empty());
}

TEST_CASE("chunks are bounded") {
  Logs logs;
  for (int i = 0; i < 100; ++i) logs.out.add(std::string(1000, 'x') + "\n", i);
  LogReader reader = logs.reader();
  LogChunk chunk = reader.read_more({10'000});
  CHECK(chunk.more);
  CHECK(chunk.lines.size() < 15);
}

TEST_CASE("bytes that are no UTF-8 come as they were written") {
  Logs logs;
  std::string text("a\xff\x00\xc3z", 5);
  logs.out.add(text + "\n", 1);
  CHECK(logs.reader().read_more().lines[0].text == text);
}

TEST_CASE("a file that is deleted while it is read is passed over") {
  Logs logs;
  logs.out.add("a\n", 1);
  LogReader reader = logs.reader();
  CHECK(texts(reader.read_more()) == "a;");
  std::filesystem::remove(logs.folder / "stdout.1.log");
  logs.out.add("b\n", 2);
  CHECK(texts(reader.read_more()) == "b;");
  CHECK(texts(logs.reader().read_more()) == "b;");
  CHECK(texts(logs.reader({.cursor = LogCursor{.out = {.file = 1, .offset = 34}}}).read_more()) == "b;");
}

TEST_CASE("links, pipes and folders in the place of a log file are not read") {
  Logs logs;
  std::ofstream(logs.folder / "secret") << "2025-12-01T06:23:00.123456Z out secret\n";
  std::filesystem::create_symlink(logs.folder / "secret", logs.folder / "stdout.1.log");
  ::mkfifo((logs.folder / "stdout.2.log").c_str(), 0600);
  std::filesystem::create_directory(logs.folder / "stdout.3.log");
  logs.out.add("mine\n", 1);
  CHECK(texts(logs.reader().read_more()) == "mine;");
  CHECK(testing::text_of_file(logs.folder / "secret").ends_with("out secret\n"));
}

TEST_CASE("lines that are none of the shim's are shown as they are") {
  Logs logs;
  logs.out.add("a\n", 5);
  std::ofstream(logs.folder / "stdout.1.log", std::ios::app) << "scribble\n\n";
  LogChunk chunk = logs.reader().read_more();
  CHECK(texts(chunk) == "a;scribble;");
  CHECK(chunk.lines[1].time_us == 5);
}

TEST_CASE("a replica without logs on this machine") {
  TemporaryFolder data;
  Result<LogReader> reader = LogReader::open(data.path(), {.workload = {.number = 1}}, {});
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code == Code::kNotFound);
}

TEST_CASE("logs of a real replica are followed until its end") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell(
      "echo one; printf two; while [ ! -e go ]; do sleep 0.01; done; echo ' three'; echo four >&2");
  harness.reports->wait<ReplicaStarted>(launch.key);
  LogReader reader = LogReader::open(harness.data.path(), launch.key, {}).value();
  std::string seen;
  CHECK(eventually([&] { return (seen += texts(reader.read_more())) == "one;two+"; }));
  std::ofstream(harness.data / "go") << "";
  harness.reports->wait<ReplicaExited>(launch.key);
  CHECK((seen += texts(reader.read_more())) == "one;two+ three;four;");
}

TEST_CASE("a log file that is deleted while its replica runs is made anew, and the run goes on") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.start_shell("echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; exit 3");
  CHECK(eventually([&] { return harness.log(launch).ends_with("before\n"); }));
  std::filesystem::remove(harness.folder(launch) + "/stdout.1.log");
  std::ofstream(harness.data / "go") << "";
  ReplicaExited exited = harness.reports->wait<ReplicaExited>(launch.key);
  CHECK_MESSAGE(exited.exit.code == 3, exited.exit.error);
  LogReader reader = LogReader::open(harness.data.path(), launch.key, {}).value();
  CHECK(texts(reader.read_more()) == "after;");
}

TEST_CASE("a link that is put in the place of the next log file is left alone") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch(
      {"sh", "-c", "ln -s ../../../../victim $(dirname $MOULIN_FLAG_FILE)/../stdout.1.log; echo text"});
  std::ofstream(harness.data / "victim") << "untouched";
  harness.start(launch);
  harness.reports->wait<ReplicaExited>(launch.key);
  CHECK(testing::text_of_file(harness.data / "victim") == "untouched");
  LogReader reader = LogReader::open(harness.data.path(), launch.key, {}).value();
  CHECK(texts(reader.read_more()) == "text;");
}

TEST_CASE("logs of a replica are bounded: the oldest lines go") {
  EngineHarness harness;
  ReplicaLaunch launch = harness.launch({"sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"});
  launch.limits.log = kibibytes(32);
  harness.start(launch);
  harness.reports->wait<ReplicaExited>(launch.key);
  uintmax_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(harness.folder(launch))) {
    if (entry.path().filename().string().starts_with("stdout.")) total += entry.file_size();
  }
  CHECK(total <= 32 * 1024 + 64);
  LogReader reader = LogReader::open(harness.data.path(), launch.key, {}).value();
  std::string seen = texts(reader.read_more());
  CHECK(seen.ends_with("line 2998;line 2999;"));
  CHECK_FALSE(seen.starts_with("line 0;"));
}

}  // namespace
}  // namespace moulin
