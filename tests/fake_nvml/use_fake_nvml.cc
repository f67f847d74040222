#include "fake_nvml/use_fake_nvml.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/check.h"

namespace moulin {

namespace {

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  MOULIN_CHECK(file.good(), "the fake library was not built");
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all_to(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  MOULIN_CHECK(file.good(), "cannot write a file of the test");
}

// Changes the first letter of a name in the table of symbols. Its hash stays that of the
// old name, so neither name is found: the function is gone.
void take_out(std::string& library, std::string_view function) {
  std::string entry = '\0' + std::string(function) + '\0';
  size_t at = library.find(entry);
  MOULIN_CHECK(at != std::string::npos, "the fake library has no such function");
  for (; at != std::string::npos; at = library.find(entry, at)) library[at + 1] = 'X';
}

void meet(const std::string& fifo) {
  int end = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // blocks until the fake opens its end
  MOULIN_CHECK(end >= 0, "cannot open a pipe of the test");
  close(end);
}

}  // namespace

FakeNvml::FakeNvml(std::string_view script, std::initializer_list<std::string_view> missing) {
  std::string pattern = (std::filesystem::temp_directory_path() / "moulin-fake-nvml-XXXXXX").string();
  MOULIN_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make a temporary folder");
  folder_ = pattern;
  std::string bytes = read_all(MOULIN_FAKE_NVML);
  for (std::string_view function : missing) take_out(bytes, function);
  write_all_to(library(), bytes);
  play(script);
}

FakeNvml::~FakeNvml() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void FakeNvml::play(std::string_view script) const {
  write_all_to(folder_ + "/next", script);
  std::filesystem::rename(folder_ + "/next", library() + ".script");
}

std::string FakeNvml::hang(std::string_view function, std::optional<int> device) const {
  for (const char* step : {"/hang.entered", "/hang.release"}) {
    MOULIN_CHECK(mkfifo((folder_ + step).c_str(), 0600) == 0, "cannot make a pipe of the test");
  }
  std::string about = device ? " " + std::to_string(*device) : "";
  return "hang " + std::string(function) + " " + folder_ + "/hang" + about + "\n";
}

void FakeNvml::wait_inside() const { meet(folder_ + "/hang.entered"); }
void FakeNvml::release() const { meet(folder_ + "/hang.release"); }

}  // namespace moulin
