#include "cli/render/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/render/workloads.h"
#include "cli/table.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

std::string sentence(std::string text) {
  text = printable(text);
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  if (!text.empty() && text.find_last_of(".!?") != text.size() - 1) text += '.';
  return text;
}

// "free_milli" and 250 are "free 0.25"; amounts of quota have the unit of their resource.
std::string number_text(std::string_view name, int64_t number, std::optional<Resource> resource) {
  std::string value = fmt::format("{}", number);
  if (name.ends_with("_milli")) {
    name.remove_suffix(6);
    value = to_text(Share{number});
  } else if (name.ends_with("_bytes")) {
    name.remove_suffix(6);
    value = rough_bytes({number});
  } else if (resource) {
    value = amount_text(number, *resource);
  }
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words + " " + value;
}

std::optional<Resource> resource_of(const wire::Reason& reason) {
  auto named = reason.names.find("resource");
  return named == reason.names.end() ? std::nullopt : from_text<Resource>(named->second);
}

std::string numbers_text(const wire::Reason& reason) {
  std::vector<std::string> parts;
  for (const auto& [name, number] : reason.numbers) parts.push_back(number_text(name, number, resource_of(reason)));
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

// What each replica would ask for, as --gpu has it; empty when that has no such form.
std::string gpu_option(const wire::Workload& workload, int64_t milli) {
  const Json* resources = workload.spec.find("resources");
  const Json* gpu = resources != nullptr ? resources->find("gpu") : nullptr;
  const Json* count = gpu != nullptr ? gpu->find("count") : nullptr;
  int64_t parts = count != nullptr ? count->integer().value_or(1) : 1;
  if (milli < kShareMin.milli || parts < 1 || milli % parts != 0) return "";
  if (milli % kWholeDevice.milli == 0 || parts == 1) {
    return milli > kWholeDevice.milli && milli % kWholeDevice.milli != 0 ? "" : " --gpu " + to_text(Share{milli});
  }
  return fmt::format(" --gpu {}x{}", parts, to_text(Share{milli / parts}));
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

std::string exact_amount(int64_t amount, Resource resource) {
  return resource == Resource::kMemory ? to_text(Bytes{amount}) : amount_text(amount, resource);
}

// The bound that the change is about is one of the reasons.
std::string quota_command(const wire::Explanation& explanation, const wire::Change& change) {
  Result<int64_t> amount = change.to.integer();
  if (!amount || !change.at) return "";
  for (const wire::Reason& reason : explanation.reasons) {
    auto is = [&](std::string_view kind) {
      auto named = reason.names.find(std::string(kind));
      return named != reason.names.end() && named->second == *change.at;
    };
    std::optional<Resource> resource = resource_of(reason);
    bool is_project = is(to_text(TreeKind::kProject));
    bool is_department = is(to_text(TreeKind::kDepartment)) || is(to_text(TreeKind::kOrganisation));
    if (!resource || (!is_project && !is_department)) continue;
    std::string command = fmt::format("moulin {} quota {} --{} {}", is_project ? "project" : "department", *change.at,
                                      reason.code == ReasonCode::kGuaranteeNeeded ? "guaranteed" : "limit",
                                      exact_amount(*amount, *resource));
    if (*resource != Resource::kGpu) command += fmt::format(" --resource {}", to_text(*resource));
    if (auto model = reason.names.find("model"); model != reason.names.end()) command += " --model " + model->second;
    auto pool = reason.names.find("pool");
    if (pool != reason.names.end() && pool->second != kDefaultPool.text) command += " --pool " + pool->second;
    return command;
  }
  return "";
}

std::string changes_text(const wire::Workload& workload, const wire::Explanation& explanation, bool at_once,
                         const View& view) {
  std::string text;
  for (const wire::Change& change : explanation.changes) {
    if (change.starts_now != at_once) continue;
    text += wrapped(sentence(change.text), "  ", view);
    std::string command = change_command(workload, explanation, change);
    if (!command.empty()) text += "    " + paint(command, Ink::kCyan, view) + "\n";
  }
  if (text.empty()) return "";
  std::string_view title =
      at_once ? "Any one of these would start it now:" : "This would start it once others have left:";
  return "\n" + paint(title, Ink::kBold, view) + "\n" + text;
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
  if (change.dimension == Dimension::kQuota) return quota_command(explanation, change);
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
  std::string text = fmt::format("{} has waited for {}.\n", title, since);
  if (explanation.reasons.empty()) return text + "Nothing is in its way: it will start with the next pass.\n";
  text +=
      reasons_text(explanation, view) + "\n" + figures_text(explanation, view) + "\n" + start_text(explanation, view);
  if (explanation.changes.empty()) return text + "No single change would start it now.\n";
  return text + changes_text(workload, explanation, true, view) + changes_text(workload, explanation, false, view);
}

std::string render_explanation(const wire::Explanation& explanation, const View& view) {
  std::string text = reasons_text(explanation, view);
  if (!explanation.reasons.empty()) text += start_text(explanation, view);
  for (const wire::Change& change : explanation.changes) {
    text += wrapped("It would start now: " + printable(change.text), "  ", view);
  }
  return text;
}

}  // namespace moulin::cli
