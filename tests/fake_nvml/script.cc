#include "fake_nvml/script.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace moulin::fake {

Script Script::read(const std::string& path) {
  Script script;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') script.lines_.push_back(line);
  }
  return script;
}

std::vector<std::string> Script::all(const std::string& first) const {
  std::vector<std::string> found;
  for (const std::string& line : lines_) {
    if (line.starts_with(first + " ")) found.push_back(line.substr(first.size() + 1));
  }
  return found;
}

std::vector<std::string> Script::of_device(int64_t index, const std::string& key) const {
  return all("device " + std::to_string(index) + " " + key);
}

int64_t Script::device_count() const {
  int64_t count = 0;
  while (!of_device(count, "uuid").empty()) ++count;
  return count;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

int64_t number(const std::string& text, int64_t otherwise) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

std::optional<int64_t> number_at(const std::vector<std::string>& lines, size_t position) {
  if (lines.empty()) return std::nullopt;
  std::vector<std::string> all = words(lines.front());
  if (position >= all.size()) return std::nullopt;
  return number(all[position], 0);
}

}  // namespace moulin::fake
