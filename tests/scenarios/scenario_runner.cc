// scenario_runner FILE_OR_FOLDER...: runs scenarios, says what failed, counts files.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "usage: scenario_runner FILE_OR_FOLDER...\n");
    return 2;
  }
  int passed = 0;
  int failed = 0;
  for (int i = 1; i < count; ++i) {
    for (const fs::path& path : files_below(arguments[i])) {
      moulin::ScenarioResult result = run_file(path);
      ++(result.passed ? passed : failed);
      fmt::print("{}", result.report);
    }
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
