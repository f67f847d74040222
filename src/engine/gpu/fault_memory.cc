#include "engine/gpu/fault_memory.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/text.h"
#include "engine/gpu/health_board.h"
#include "shim/files.h"

namespace moulin {

namespace {

std::vector<int32_t> parse_numbers(const std::vector<std::string_view>& words) {
  std::vector<int32_t> numbers;
  for (size_t i = 1; i < words.size() && numbers.size() < kXidsKeptMax; ++i) {
    int32_t number = 0;
    auto [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), number);
    if (error != std::errc{} || end != words[i].data() + words[i].size() || number < 0) return {};
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

XidsByGpu recall_faults(const std::string& folder, const std::string& boot_id) {
  XidsByGpu xids;
  if (folder.empty()) return xids;
  Result<std::string> text = read_file_at(folder + "/" + kFaultFile, mebibytes(1));
  if (!text) return xids;
  std::vector<std::string_view> lines = split(*text, '\n');
  if (lines.front() != "boot " + boot_id) return xids;
  for (size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string_view> words = split(lines[i], ' ');
    std::vector<int32_t> numbers = parse_numbers(words);
    if (!words.front().empty() && !numbers.empty()) xids[GpuUuid(words.front())] = std::move(numbers);
  }
  return xids;
}

Status remember_faults(const std::string& folder, const std::string& boot_id, const XidsByGpu& xids) {
  if (folder.empty()) return {};
  std::string text = fmt::format("boot {}\n", boot_id);
  for (const auto& [uuid, numbers] : xids) text += fmt::format("{} {}\n", uuid.text, fmt::join(numbers, " "));
  Fd open = TRY(open_folder(folder));
  return write_atomically(open, kFaultFile, text, Durability::kDisk);
}

}  // namespace moulin
