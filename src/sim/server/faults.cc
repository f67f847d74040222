#include "sim/server/faults.h"

#include <algorithm>

#include "base/text.h"

namespace moulin::sim {

namespace {

constexpr std::array<std::string_view, kFaultCount> kFaultWords = {
    "kill",      "power_loss",    "disk_full", "slow_commits", "lost_report", "doubled_report", "late_report",
    "node_loss", "unhealthy_gpu", "wall_step", "client_gone",  "bad_request", "vanished"};

}  // namespace

std::string_view word_of(Fault fault) { return kFaultWords[static_cast<size_t>(fault)]; }

Faults::Faults(uint64_t seed) {
  for (size_t i = 0; i < kFaultCount; ++i) dice_.emplace_back(seed * 1'000'003 + i * 7'919 + 1);
}

std::vector<Fault> Faults::all() {
  std::vector<Fault> faults;
  for (size_t i = 0; i < kFaultCount; ++i) faults.push_back(static_cast<Fault>(i));
  return faults;
}

Result<std::vector<Fault>> Faults::parse(std::string_view list) {
  if (list == "all") return all();
  std::vector<Fault> faults;
  if (list == "none" || list.empty()) return faults;
  for (std::string_view word : split(list, ',')) {
    auto found = std::ranges::find(kFaultWords, word);
    if (found == kFaultWords.end()) {
      std::vector<std::string> words(kFaultWords.begin(), kFaultWords.end());
      return Error{.code = Code::kInvalid,
                   .message = "no such fault",
                   .field = "--faults",
                   .given = std::string(word),
                   .allowed = "all, none, or of " + join(words, ", "),
                   .to_do = "separate several by commas"};
    }
    faults.push_back(static_cast<Fault>(found - kFaultWords.begin()));
  }
  return faults;
}

std::string Faults::text_of(const std::vector<Fault>& faults) {
  if (faults.empty()) return "none";
  std::vector<std::string> words;
  for (Fault fault : faults) words.emplace_back(word_of(fault));
  return join(words, ",");
}

void Faults::allow(const std::vector<Fault>& faults) {
  allowed_.fill(false);
  for (Fault fault : faults) allowed_[static_cast<size_t>(fault)] = true;
}

bool Faults::strikes(Fault fault, int64_t per_million) {
  bool struck = dice(fault).below(1'000'000) < per_million;
  return struck && is_allowed(fault) && weather_ == Weather::kWild;
}

}  // namespace moulin::sim
