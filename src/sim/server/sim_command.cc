#include "sim/server/sim_command.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "shim/files.h"
#include "sim/server/trial.h"

namespace moulin::sim {

namespace {

constexpr std::string_view kHelp = R"(moulin-sim: the whole server under virtual time, disk, engine and users

  moulin-sim --seed 1 --events 20000            one run
  moulin-sim --seed 1 --seeds 10                ten runs, one after the other
  moulin-sim --list tests/simulation/seeds.txt  runs that once failed

  --seed N      what happens; the same seed does the same again
  --seeds N     so many runs, with the seeds from --seed on
  --events N    of each run; 20000 unless said
  --faults LIST all (unless said), none, or of: kill, power_loss, disk_full, slow_commits,
                lost_report, doubled_report, late_report, node_loss, unhealthy_gpu, wall_step,
                client_gone, bad_request, vanished
  --users N     ordinary users, 1 to 100; 4 unless said
  --disk KIND   memory, sqlite, or mixed: every fourth seed on SQLite (unless said)
  --depth N     the costly checks after every Nth batch; 1 unless said
  --twice       each run a second time, and compares
  --no-shrink   does not look for a smaller run that fails
)";

constexpr int kTrialsMax = 40;

struct Arguments {
  RunOptions run{};
  uint64_t seeds = 1;
  bool is_mixed = true;
  bool twice = false;
  bool shrinks = true;
  bool is_child = false;
  bool wants_help = false;
  std::string list{};
};

Result<int64_t> read_number(std::string_view name, std::string_view text, int64_t min, int64_t max) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= min && number <= max) return number;
  return Error{.code = Code::kInvalid,
               .message = "not a number that can be",
               .field = std::string(name),
               .given = std::string(text),
               .allowed = fmt::format("{} to {}", min, max)};
}

Status read_disk(Arguments& out, const std::string& value) {
  out.is_mixed = value == "mixed";
  if (value != "mixed" && value != "memory" && value != "sqlite") {
    return Error{.code = Code::kInvalid,
                 .message = "no such disk",
                 .field = "--disk",
                 .given = value,
                 .allowed = "memory, sqlite or mixed"};
  }
  out.run.disk = value == "sqlite" ? DiskKind::kSqlite : DiskKind::kMemory;
  return {};
}

Status read_value(Arguments& out, const std::string& name, const std::string& value) {
  if (name == "--seed") {
    out.run.seed = static_cast<uint64_t>(TRY(read_number(name, value, 0, INT64_MAX)));
  } else if (name == "--seeds") {
    out.seeds = static_cast<uint64_t>(TRY(read_number(name, value, 1, 1'000'000)));
  } else if (name == "--events") {
    out.run.events = TRY(read_number(name, value, 1, 1'000'000'000));
  } else if (name == "--users") {
    out.run.users = TRY(read_number(name, value, 1, 100));
  } else if (name == "--depth") {
    out.run.depth.publications = TRY(read_number(name, value, 1, 1'000'000));
  } else if (name == "--faults") {
    out.run.faults = TRY(Faults::parse(value));
  } else if (name == "--disk") {
    return read_disk(out, value);
  } else if (name == "--list") {
    out.list = value;
  } else {
    return Error{.code = Code::kInvalid, .message = "no such option", .given = name, .to_do = "moulin-sim --help"};
  }
  return {};
}

Result<Arguments> read_arguments(const std::vector<std::string>& arguments) {
  Arguments out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--help") {
      out.wants_help = true;
    } else if (name == "--twice") {
      out.twice = true;
    } else if (name == "--no-shrink") {
      out.shrinks = false;
    } else if (name == "--child") {
      out.is_child = true;
    } else if (i + 1 == arguments.size()) {
      return Error{
          .code = Code::kInvalid, .message = "no value or no such option", .given = name, .to_do = "moulin-sim --help"};
    } else {
      TRY(read_value(out, name, arguments[++i]));
    }
  }
  return out;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_failure(const RunOptions& options, const Trial& trial) {
  print(fmt::format("{}FAILED by {}: {}\n  {}\n", trial.tail, trial.checker, trial.text, command_line(options)));
}

class Runner {
 public:
  explicit Runner(const Arguments& arguments) : arguments_(arguments) {}

  // True when all went well.
  bool run(const RunOptions& options) {
    auto begun = std::chrono::steady_clock::now();
    Trial trial = try_run(kSelf, options);
    if (trial.checker.empty() && arguments_.twice && try_run(kSelf, options).hash != trial.hash)
      trial = {.checker = "twice", .text = "the second run did not do the same"};
    double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    events_ += trial.events;
    seconds_ += taken;
    if (!trial.checker.empty()) return fail(options, trial);
    ++passed_;
    print(fmt::format("seed {}: {} events, {} requests, {} lives, {} in {:.1f} s\n", options.seed, trial.events,
                      trial.requests, trial.lives, trial.hash, taken));
    return true;
  }

  void sum_up() const {
    print(fmt::format("{} events in {:.1f} s, {:.0f} events/s\n", events_, seconds_,
                      static_cast<double>(events_) / seconds_));
    print(fmt::format("{} passed, {} failed\n", passed_, failed_));
  }

 private:
  bool fail(const RunOptions& options, const Trial& trial) {
    ++failed_;
    print_failure(options, trial);
    if (!arguments_.shrinks || trial.checker == "twice") return false;
    Shrunk small = shrink(kSelf, options, trial, kTrialsMax);
    print(fmt::format("\nsmaller, after {} more runs:\n", small.trials));
    print_failure(small.options, small.trial);
    return false;
  }

  inline static const std::string kSelf = "/proc/self/exe";
  const Arguments& arguments_;
  int64_t passed_ = 0;
  int64_t failed_ = 0;
  int64_t events_ = 0;
  double seconds_ = 0;
};

// A line for each run: the arguments, and after '#' what it found.
Result<std::vector<RunOptions>> read_list(const std::string& path) {
  std::vector<RunOptions> runs;
  std::string text = TRY(read_file_at(path, mebibytes(1)));
  for (std::string_view line : split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string> words;
    for (std::string_view word : split(line, ' '))
      if (!word.empty()) words.emplace_back(word);
    if (!words.empty()) runs.push_back(TRY(read_arguments(words)).run);
  }
  return runs;
}

Result<std::vector<RunOptions>> runs_of(const Arguments& arguments) {
  if (!arguments.list.empty()) return read_list(arguments.list);
  std::vector<RunOptions> runs;
  for (uint64_t i = 0; i < arguments.seeds; ++i) {
    RunOptions run = arguments.run;
    run.seed += i;
    if (arguments.is_mixed) run.disk = run.seed % 4 == 0 ? DiskKind::kSqlite : DiskKind::kMemory;
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<int> run_all(const std::vector<std::string>& given) {
  Arguments arguments = TRY(read_arguments(given));
  if (arguments.wants_help) {
    print(std::string(kHelp));
    return 0;
  }
  if (arguments.is_child) {
    run_for_parent(arguments.run);
    return 0;
  }
  Runner runner(arguments);
  bool all_well = true;
  for (const RunOptions& run : TRY(runs_of(arguments))) all_well = runner.run(run) && all_well;
  runner.sum_up();
  return all_well ? 0 : 1;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  Result<int> done = run_all(arguments);
  if (done) return *done;
  std::fputs(("moulin-sim: " + done.error().to_text() + "\n").c_str(), stderr);
  return 2;
}

}  // namespace moulin::sim
