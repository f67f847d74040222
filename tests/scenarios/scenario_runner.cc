// scenario_runner FILE_OR_FOLDER...      runs scenarios, says what failed, counts files
// scenario_runner --write-golden NAME   writes NAME.journal and NAME.state, once a release
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/golden.h"
#include "sim/scenario.h"

namespace {

namespace fs = std::filesystem;

// All *.yaml below a folder, or the file itself, in order of their paths.
std::vector<fs::path> files_below(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

moulin::ScenarioResult run_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {.passed = false, .report = path.string() + ": cannot be read\n"};
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return moulin::run_scenario(fs::relative(path).string(), text);
}

int run_all(const std::vector<std::string>& paths) {
  int passed = 0;
  int failed = 0;
  for (const std::string& given : paths) {
    for (const fs::path& path : files_below(given)) {
      moulin::ScenarioResult result = run_file(path);
      ++(result.passed ? passed : failed);
      fmt::print("{}", result.report);
    }
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

// Golden files are for ever: one that is there is not written again.
int write_golden(const std::string& name) {
  if (fs::exists(name + ".journal")) {
    fmt::print(stderr, "{}.journal exists: a golden journal never changes; give another name\n", name);
    return 1;
  }
  moulin::GoldenFiles files = moulin::make_golden();
  std::ofstream(name + ".journal", std::ios::binary) << files.journal;
  std::ofstream(name + ".state", std::ios::binary) << files.state;
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "--write-golden") return write_golden(words[1]);
  if (!words.empty() && !words[0].starts_with("--")) return run_all(words);
  fmt::print(stderr, "usage: scenario_runner FILE_OR_FOLDER...\n       scenario_runner --write-golden NAME\n");
  return 2;
}
