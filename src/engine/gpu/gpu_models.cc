#include "engine/gpu/gpu_models.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace moulin {

namespace {

constexpr auto kModels = std::to_array<GpuModel>({
    {"A10-24GB", 23028},      {"A100-40GB", 40960},     {"A100-80GB", 81920},     {"A16-16GB", 15356},
    {"A2-16GB", 15356},       {"A30-24GB", 24576},      {"A40-48GB", 46068},      {"B200-180GB", 183359},
    {"B300-288GB", 275040},   {"GH200-96GB", 97871},    {"H100-80GB", 81559},     {"H100-94GB", 95830},
    {"H20-96GB", 97871},      {"H200-141GB", 143771},   {"L4-24GB", 23034},       {"L40-48GB", 46068},
    {"L40S-48GB", 46068},     {"P100-16GB", 16384},     {"P4-8GB", 7680},         {"P40-24GB", 24576},
    {"RTX-3090-24GB", 24576}, {"RTX-4090-24GB", 24564}, {"RTX-5090-32GB", 32607}, {"RTX-A6000-48GB", 49140},
    {"T4-16GB", 15360},       {"V100-16GB", 16384},     {"V100-32GB", 32768},
});

constexpr int64_t kSizeMaxGb = 1024;
constexpr size_t kNameMax = 63;

constexpr auto kNoise = std::to_array<std::string_view>(
    {"NVIDIA", "TESLA", "GEFORCE", "QUADRO", "GRAPHICS", "DEVICE", "GENERATION", "PCIE", "NVL",  "HBM2", "HBM2E",
     "HBM3",   "HBM3E", "SXM",     "SXM2",   "SXM3",     "SXM4",   "SXM5",       "SXM6", "DGXS", "FHHL"});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

// "80GB" is 80; nothing for anything else and outside 1 to 1024.
std::optional<int64_t> size_gb(std::string_view word) {
  if (!upper(word).ends_with("GB") || word.size() < 3 || word.size() > 6) return std::nullopt;
  int64_t size = 0;
  for (char c : word.substr(0, word.size() - 2)) {
    if (!is_digit(c)) return std::nullopt;
    size = size * 10 + (c - '0');
  }
  if (size < 1 || size > kSizeMaxGb) return std::nullopt;
  return size;
}

int64_t distance(int64_t one, int64_t other) { return one < other ? other - one : one - other; }

bool within_a_tenth(int64_t total_mib, int64_t expected_mib) {
  return distance(total_mib, expected_mib) * 10 <= expected_mib;
}

// The base name of a known model: "A100" of "A100-40GB".
std::string_view base_of(const GpuModel& model) { return model.name.substr(0, model.name.rfind('-')); }

std::string_view size_of_known(std::string_view base, int64_t total_mib) {
  const GpuModel* best = nullptr;
  for (const GpuModel& model : kModels) {
    if (base_of(model) != base || !within_a_tenth(total_mib, model.memory_mib)) continue;
    if (best == nullptr || distance(total_mib, model.memory_mib) < distance(total_mib, best->memory_mib)) best = &model;
  }
  return best == nullptr ? std::string_view{} : best->name.substr(best->name.rfind('-') + 1);
}

std::string size_text(std::string_view base, std::optional<int64_t> hint, Bytes total) {
  int64_t total_mib = total.count >> 20;
  if (std::string_view known = size_of_known(base, total_mib); !known.empty()) return std::string(known);
  if (hint && within_a_tenth(total_mib, *hint * 1024)) return std::to_string(*hint) + "GB";
  return std::to_string((total_mib + 1023) / 1024) + "GB";
}

// Words of letters and digits, up to "MIG".
std::vector<std::string_view> product_words(std::string_view product) {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < product.size();) {
    size_t end = i;
    while (end < product.size() && (is_letter(product[end]) || is_digit(product[end]))) ++end;
    if (end > i) words.push_back(product.substr(i, end - i));
    if (!words.empty() && words.back() == "MIG") {
      words.pop_back();
      break;
    }
    i = end + 1;
  }
  return words;
}

Error unknown_memory(std::string_view name, std::string allowed) {
  return {.code = Code::kInvalid,
          .message = "the memory of this GPU model is not known",
          .given = shortened(name),
          .allowed = std::move(allowed)};
}

bool is_model_text(std::string_view name) {
  if (name.empty() || name.size() > kNameMax || name.front() == '-' || name.back() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

}  // namespace

std::span<const GpuModel> known_gpu_models() { return kModels; }

Bytes driver_reserve(Bytes total) { return mebibytes(384 + (total.count >> 20) / 400); }

ModelName model_name(std::string_view product, Bytes total) {
  std::string base;
  std::optional<int64_t> hint;
  for (std::string_view word : product_words(product)) {
    if (std::find(kNoise.begin(), kNoise.end(), upper(word)) != kNoise.end()) continue;
    if (std::optional<int64_t> size = size_gb(word)) {
      if (!hint) hint = size;
      continue;
    }
    if (base.size() + word.size() > kNameMax - 8) break;  // room for the size
    if (!base.empty()) base += '-';
    base += word;
  }
  if (base.empty()) base = "GPU";
  return ModelName(base + "-" + size_text(base, hint, total));
}

Result<SimulatedModel> simulated_model(std::string_view name) {
  std::vector<std::string_view> same_base;
  for (const GpuModel& model : kModels) {
    if (model.name == name) return SimulatedModel{ModelName(name), mebibytes(model.memory_mib)};
    if (base_of(model) == name) same_base.push_back(model.name);
  }
  if (same_base.size() == 1) return simulated_model(same_base.front());
  if (same_base.size() > 1) return unknown_memory(name, words_text(same_base));
  size_t dash = name.rfind('-');
  if (is_model_text(name) && dash != std::string_view::npos) {
    if (std::optional<int64_t> size = size_gb(name.substr(dash + 1))) {
      return SimulatedModel{ModelName(name), gibibytes(*size)};
    }
  }
  return unknown_memory(name,
                        "a name that ends with its memory, such as X100-64GB (1 to 1024), or a known one such as "
                        "H100-80GB, A100-40GB, L4, T4");
}

}  // namespace moulin
