// Runs a fuzz target over every file of a folder, where there is no libFuzzer: a test of
// inputs that once went wrong. Prints the count; a wrong result aborts in the target.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argument_count, char** arguments) {
  if (argument_count != 2) return 2;
  int passed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s\n", entry.path().c_str());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++passed;
  }
  std::printf("%d passed, 0 failed\n", passed);
  return passed > 0 ? 0 : 1;
}
