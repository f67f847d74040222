#include "model/workload_array.h"

#include <optional>
#include <string>

#include "base/json_reader.h"

namespace moulin {

namespace {

constexpr std::string_view kAllowed = "first-last, at most 10000 elements from 0 to 999999999, such as 0-99";

std::optional<int64_t> parse_index(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  int64_t index = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + (c - '0');
  }
  return index;
}

// Elements run side by side: one file for all would be overwritten by each. The index takes
// the place of kIndexMark, or else goes behind the name of the file: ckpt/a.pt, ckpt/a-7.pt.
std::string path_of_element(std::string path, int64_t index) {
  std::string number = std::to_string(index);
  size_t mark = path.find(kIndexMark);
  if (mark == std::string::npos) {
    size_t name = path.rfind('/') + 1;  // npos + 1 is 0
    size_t dot = path.rfind('.');
    bool has_ending = dot != std::string::npos && dot > name;
    return path.insert(has_ending ? dot : path.size(), "-" + number);
  }
  for (; mark != std::string::npos; mark = path.find(kIndexMark, mark + number.size()))
    path.replace(mark, kIndexMark.size(), number);
  return path;
}

}  // namespace

size_t element_bytes(const WorkloadSpec& spec) {
  size_t bytes = sizeof(WorkloadElement) + spec.name.size() + spec.folder.size() + spec.checkpoint_path.size();
  for (const std::string& argument : spec.argv) bytes += argument.size() + sizeof argument;
  for (const auto& [name, value] : spec.environment) bytes += name.size() + value.size() + 2 * sizeof name;
  for (const auto& [name, value] : spec.tags) bytes += name.size() + value.size() + 2 * sizeof name;
  return bytes;
}

Result<ArrayRange> read_array_range(const Json& value, std::string_view path) {
  if (!value.is_string()) {
    Error error = wrong_value(value, path, kAllowed);
    if (value.is_number()) error.to_do = "write both ends: `0-4` for five elements";
    return error;
  }
  const std::string& text = value.string();
  size_t dash = text.find('-');
  std::optional<int64_t> first = parse_index(std::string_view(text).substr(0, dash));
  std::optional<int64_t> last;
  if (dash != std::string::npos) last = parse_index(std::string_view(text).substr(dash + 1));
  Error error = wrong_value(value, path, kAllowed);
  error.message = "is no range of indices";
  if (!first || !last) return error;
  ArrayRange range{.first = *first, .last = *last};
  if (range.count() >= 1 && range.count() <= kArrayMax) return range;
  error.message = range.count() < 1 ? "ends before it begins" : "has " + std::to_string(range.count()) + " elements";
  return error;
}

Result<std::vector<WorkloadElement>> expand_array(const WorkloadSpec& spec, ArrayRange range) {
  std::string longest = spec.name + "-" + std::to_string(range.last);
  if (Status status = check_name("workload", longest); !status) {
    Error error = at_path("name", std::move(status).error());
    error.to_do = "choose a shorter name: each element has its index behind it";
    return error;
  }
  size_t bytes = element_bytes(spec) * static_cast<size_t>(range.count());
  if (bytes > kArrayBytesMax) {
    return Error{.code = Code::kInvalid,
                 .message = "is too large: its elements repeat command and env",
                 .field = "array",
                 .given = std::to_string(bytes) + " bytes in all elements",
                 .allowed = std::to_string(kArrayBytesMax) + " bytes",
                 .to_do = "put what all elements share into a file, or make several arrays"};
  }
  std::vector<WorkloadElement> elements;
  elements.reserve(static_cast<size_t>(range.count()));
  for (int64_t index = range.first; index <= range.last; ++index) {
    WorkloadElement& element = elements.emplace_back(
        WorkloadElement{spec, Origin{.kind = OriginKind::kArray, .name = spec.name, .index = index}});
    element.spec.name += "-" + std::to_string(index);
    if (!spec.checkpoint_path.empty()) {
      element.spec.checkpoint_path = path_of_element(spec.checkpoint_path, index);
    }
    element.spec.environment.insert_or_assign("MOULIN_ARRAY_INDEX", std::to_string(index));
  }
  return elements;
}

}  // namespace moulin
