#include "shim/log_writer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include "shim/files.h"
#include "shim/temporary_folder.h"

namespace moulin {
namespace {

using testing::TemporaryFolder;
using testing::text_of_file;

constexpr const char* kPrefix = "1970-01-01T00:00:00.000001Z out";

struct Bench {
  explicit Bench(Bytes total = {}) : fd(open_folder(folder.path()).value()), log(fd, {.total_max = total}) {}
  std::string file(int number) { return text_of_file(folder / fmt::format("stdout.{}.log", number)); }
  TemporaryFolder folder;
  Fd fd;
  LogWriter log;
};

TEST_CASE("lines are written whole, whatever the pieces in which they come") {
  Bench bench;
  bench.log.add("one\ntw", 1);
  CHECK(bench.file(1) == fmt::format("{} one\n", kPrefix));
  CHECK(bench.log.has_partial());
  bench.log.add("o\n\nthree", 1);
  bench.log.finish(1);
  CHECK(bench.file(1) == fmt::format("{0} one\n{0} two\n{0} \n{0} three\n", kPrefix));
  CHECK_FALSE(bench.log.has_partial());
}

TEST_CASE("an unfinished line is shown after a while, and marked as going on") {
  Bench bench;
  bench.log.add("10%\r", 1);
  bench.log.flush_old(LogWriter::kPartialAgeUs);
  CHECK(bench.file(1) == "");
  bench.log.flush_old(1 + LogWriter::kPartialAgeUs);
  CHECK(bench.file(1) == "1970-01-01T00:00:00.500001Z out+10%\r\n");
  bench.log.add("done\n", 1);
  CHECK(bench.file(1).ends_with(fmt::format("{} done\n", kPrefix)));
}

TEST_CASE("a very long line is split") {
  Bench bench;
  bench.log.add(std::string(kLogTextMax + 5, 'x') + "\n", 1);
  std::string first = std::string(kPrefix) + "+" + std::string(kLogTextMax, 'x') + "\n";
  CHECK(bench.file(1) == first + kPrefix + " xxxxx\n");
}

TEST_CASE("files are rotated at whole lines, and the oldest is dropped") {
  Bench bench({16'384});
  for (int i = 0; i < 1000; ++i) bench.log.add(fmt::format("line {}\n", i), 1);
  size_t total = 0;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(bench.folder.path())) {
    std::string text = text_of_file(entry.path());
    CHECK(text.starts_with(kPrefix));
    CHECK(text.ends_with("\n"));
    total += text.size();
    ++files;
  }
  CHECK(files > 1);
  CHECK(total <= 16'384 + 100);
  CHECK(bench.file(1) == "");
}

TEST_CASE("a deleted file is made anew") {
  Bench bench;
  bench.log.add("one\n", 1);
  std::filesystem::remove(bench.folder / "stdout.1.log");
  bench.log.add("two\n", 1);
  CHECK(bench.file(2) == fmt::format("{} two\n", kPrefix));
  CHECK(bench.log.bytes_dropped() == 0);
}

TEST_CASE("a link in the place of a file is not followed") {
  Bench bench;
  std::ofstream(bench.folder / "victim") << "untouched";
  std::filesystem::create_symlink("victim", bench.folder / "stdout.1.log");
  std::filesystem::create_symlink("nowhere", bench.folder / "stdout.2.log");
  bench.log.add("text\n", 1);
  CHECK(text_of_file(bench.folder / "victim") == "untouched");
  CHECK_FALSE(std::filesystem::exists(bench.folder / "nowhere"));
  CHECK(bench.file(3) == fmt::format("{} text\n", kPrefix));
}

// As if the disk were full: the system refuses to let files grow.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    before_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  void (*before_handler_)(int) = nullptr;
};

TEST_CASE("output that cannot be written is counted, and said when it can be again") {
  Bench bench;
  bench.log.add("kept\n", 1);
  {
    FullDisk full;
    for (int i = 0; i < 100; ++i) bench.log.add("lost\n", 1);
  }
  CHECK(bench.log.bytes_dropped() == 500);
  bench.log.add("kept too\n", 1);
  CHECK(bench.file(1) == fmt::format("{0} kept\n\n{0} [moulin: 500 bytes of output could not be written here]\n"
                                     "{0} kept too\n", kPrefix));
  CHECK(bench.file(2) == "");
}

TEST_CASE("a folder that is gone loses output, nothing else") {
  Bench bench;
  std::filesystem::remove_all(bench.folder.path());
  bench.log.add("lost\n", 1);
  CHECK(bench.log.bytes_dropped() == 5);
}

}  // namespace
}  // namespace moulin
