#include "cli/render/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/render/workloads.h"
#include "cli/table.h"
#include "cli/units.h"

namespace moulin {

namespace {

std::string sentence(std::string text) {
  text = printable(text);
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  if (!text.empty() && text.find_last_of(".!?") != text.size() - 1) text += '.';
  return text;
}

// "free_milli" and 250 are "free 0.25".
std::string number_text(std::string_view name, int64_t number) {
  std::string value = fmt::format("{}", number);
  if (name.ends_with("_milli")) {
    name.remove_suffix(6);
    value = to_text(Share{number});
  } else if (name.ends_with("_bytes")) {
    name.remove_suffix(6);
    value = rough_bytes({number});
  }
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words + " " + value;
}

std::string numbers_text(const wire::Reason& reason) {
  std::vector<std::string> parts;
  for (const auto& [name, number] : reason.numbers) parts.push_back(number_text(name, number));
  for (const auto& [name, value] : reason.names) parts.push_back(name + " " + value);
  return join(parts, ", ");
}

std::string start_text(const wire::Explanation& explanation, const View& view) {
  if (explanation.expected_start) {
    return fmt::format("It is expected to start {}.\n", relative_text(*explanation.expected_start, view));
  }
  std::string why =
      explanation.expected_start_reason.empty() ? "nothing is known about it" : explanation.expected_start_reason;
  return wrapped(sentence("when it will start cannot be told yet: " + why), "", view);
}

// The whole of `to` as --gpu of one replica; empty when it does not divide evenly.
std::string gpu_option(const wire::Workload& workload, int64_t total_milli) {
  int64_t replicas = workload.replicas.min;
  if (replicas < 1 || total_milli % replicas != 0) return "";
  int64_t each = total_milli / replicas;
  if (each < kShareMin.milli || (each > kWholeDevice.milli && each % kWholeDevice.milli != 0)) return "";
  return " --gpu " + to_text(Share{each});
}

std::string amount_option(std::string_view option, const Json& to, std::string (*text)(int64_t)) {
  Result<int64_t> amount = to.integer();
  return amount ? fmt::format(" {} {}", option, text(*amount)) : "";
}

// What to write behind `moulin run --like ID --replace`.
std::string run_options(const wire::Workload& workload, const wire::Change& change) {
  auto cores = [](int64_t amount) { return to_text(CpuMilli{amount}); };
  auto bytes = [](int64_t amount) { return to_text(Bytes{amount}); };
  auto count = [](int64_t amount) { return fmt::format("{}", amount); };
  std::string word = change.to.is_string() ? change.to.string() : "";
  switch (change.dimension) {
    case Dimension::kShare: return change.to.integer() ? gpu_option(workload, *change.to.integer()) : "";
    case Dimension::kGpuMemory: return amount_option("--gpu", change.to, bytes);
    case Dimension::kCpu: return amount_option("--cpu", change.to, cores);
    case Dimension::kMemory: return amount_option("--memory", change.to, bytes);
    case Dimension::kReplicas: return amount_option("--replicas", change.to, count);
    case Dimension::kModel: return word.empty() ? "" : " --gpu-model " + word;
    case Dimension::kClass: return word.empty() ? "" : " --class " + word;
    case Dimension::kTopology:
    case Dimension::kQuota: return "";
  }
  return "";
}

std::string quota_command(const wire::Workload& workload, const wire::Explanation& explanation,
                          const wire::Change& change) {
  Result<int64_t> amount = change.to.integer();
  if (!amount || !change.at) return "";
  auto is_guarantee = [](const wire::Reason& reason) { return reason.code == ReasonCode::kGuaranteeNeeded; };
  bool guarantee = std::any_of(explanation.reasons.begin(), explanation.reasons.end(), is_guarantee);
  return fmt::format("moulin {} quota {} --{} {}", *change.at == workload.project ? "project" : "department",
                     *change.at, guarantee ? "guaranteed" : "limit", to_text(Share{*amount}));
}

std::string reasons_text(const wire::Explanation& explanation, const View& view) {
  std::string text;
  for (const wire::Reason& reason : explanation.reasons) text += wrapped(sentence(reason.text), "  ", view);
  return text;
}

std::string figures_text(const wire::Explanation& explanation, const View& view) {
  Table table({{"REASON"}, {"NUMBERS"}});
  for (const wire::Reason& reason : explanation.reasons) {
    table.add({{std::string(to_text(reason.code)), Ink::kYellow}, {numbers_text(reason)}});
  }
  View uncut = view;
  uncut.width = 0;
  return table.text(uncut);
}

}  // namespace

std::string change_command(const wire::Workload& workload, const wire::Explanation& explanation,
                           const wire::Change& change) {
  if (change.dimension == Dimension::kQuota) return quota_command(workload, explanation, change);
  std::string options = run_options(workload, change);
  return options.empty() ? "" : fmt::format("moulin run --like {} --replace{}", to_text(workload.id), options);
}

std::string render_why(const wire::Workload& workload, const wire::Explanation& explanation, const View& view) {
  std::string title = fmt::format("{} ({})", workload.name, to_text(workload.id));
  std::string since = elapsed(workload.state_since, view.now);
  if (explanation.state != WorkloadState::kWaiting) {
    return fmt::format("{} does not wait: it is {}, for {}.\n", title,
                       paint(to_text(explanation.state), ink_of(explanation.state), view), since);
  }
  std::string text = fmt::format("{} has waited for {}.\n", title, elapsed(workload.submitted, view.now));
  if (explanation.reasons.empty()) return text + "Nothing is in its way: it will start with the next pass.\n";
  text +=
      reasons_text(explanation, view) + "\n" + figures_text(explanation, view) + "\n" + start_text(explanation, view);
  if (explanation.changes.empty()) return text + "No single change would start it now.\n";
  text += "\n" + paint("Any one of these would start it now:", Ink::kBold, view) + "\n";
  for (const wire::Change& change : explanation.changes) {
    text += wrapped(sentence(change.text), "  ", view);
    std::string command = change_command(workload, explanation, change);
    if (!command.empty()) text += "    " + paint(command, Ink::kCyan, view) + "\n";
  }
  return text;
}

std::string render_explanation(const wire::Explanation& explanation, const View& view) {
  std::string text = reasons_text(explanation, view);
  if (!explanation.reasons.empty()) text += start_text(explanation, view);
  for (const wire::Change& change : explanation.changes) {
    text += wrapped("It would start now: " + printable(change.text), "  ", view);
  }
  return text;
}

}  // namespace moulin
