#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace moulin {

namespace {

std::string option_words(const OptionSpec& option) {
  std::string words = option.letter != 0 ? fmt::format("-{}, ", option.letter) : "    ";
  words += fmt::format("--{}", option.name);
  if (!option.value.empty()) words += fmt::format(" {}", option.value);
  return words;
}

std::string usage_line(const Verb& verb) {
  std::string line = fmt::format("moulin {}", verb.name);
  if (!verb.options.empty()) line += " [options]";
  if (!verb.arguments.empty()) line += fmt::format(" {}", verb.arguments);
  if (verb.tail == Verb::Tail::kMayCommand) line += " -- CMD...";
  return line;
}

}  // namespace

std::string overall_help(std::span<const Verb> verbs, const View& view) {
  std::string text = "Moulin: the GPUs you own, for everybody, by turns.\n\nUsage: moulin VERB [options]\n";
  size_t width = 0;
  for (const Verb& verb : verbs) width = std::max(width, verb.name.size());
  std::string_view group;
  for (const Verb& verb : verbs) {
    if (verb.group != group) text += fmt::format("\n{}\n", paint(verb.group, Ink::kBold, view));
    group = verb.group;
    text += fmt::format("  {:<{}}  {}\n", verb.name, width, verb.summary);
  }
  text +=
      "\nEvery verb has --json and --help. A workload is named by its id, the beginning of\n"
      "its id, or its name. The server is found by itself, or by MOULIN_URL with MOULIN_TOKEN\n"
      "or MOULIN_TOKEN_FILE.\n\nTry: moulin run --gpu 0.25 -- python train.py\n";
  return text;
}

std::string verb_help(const Verb& verb) {
  std::string text = fmt::format("moulin {}: {}\n\nUsage: {}\n\n", verb.name, verb.summary, usage_line(verb));
  constexpr OptionSpec kJson{.name = "json", .help = "answer as JSON"};
  constexpr OptionSpec kHelp{.name = "help", .letter = 'h', .help = "show this"};
  std::vector<OptionSpec> options(verb.options.begin(), verb.options.end());
  options.push_back(kJson);
  options.push_back(kHelp);
  size_t width = 0;
  for (const OptionSpec& option : options) width = std::max(width, option_words(option).size());
  for (const OptionSpec& option : options) {
    std::string help(option.help);
    if (option.repeat == OptionSpec::Repeat::kMany) help += "; may be repeated";
    text += fmt::format("  {:<{}}  {}\n", option_words(option), width, help);
  }
  if (!verb.details.empty()) text += fmt::format("\n{}", verb.details);
  if (!text.ends_with('\n')) text += "\n";
  return text;
}

}  // namespace moulin
