#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cli/call.h"
#include "cli/columns.h"

namespace moulin::cli {

namespace {

constexpr size_t kColumns = 80;
constexpr size_t kColumnsMin = 50;

struct Entry {
  std::string name;
  std::string help;
};

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

// Names on the left, as wide as `width`, and what they mean on the right, over as many
// lines as it takes.
std::string entries_text(std::span<const Entry> entries, size_t width, const View& view) {
  size_t columns = view.width > 0 ? std::max(static_cast<size_t>(view.width), kColumnsMin) : kColumns;
  size_t left = width + 4;
  std::string text;
  for (const Entry& entry : entries) {
    std::vector<std::string> lines = broken(entry.help, columns - std::min(columns - 1, left));
    text += fmt::format("  {:<{}}  {}\n", entry.name, width, lines.front());
    for (const std::string& line : std::span(lines).subspan(1)) text += fmt::format("{:{}}{}\n", "", left, line);
  }
  return text;
}

size_t widest(std::span<const Entry> entries) {
  size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.name.size());
  return width;
}

std::string heading(std::string_view text, const View& view) {
  return fmt::format("\n{}\n", paint(text, Ink::kBold, view));
}

std::string examples_text(std::string_view examples) {
  std::string text;
  for (std::string_view line : split(examples, '\n')) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace

std::string overall_help(std::span<const Verb> verbs, const View& view) {
  std::string text = "Moulin: the GPUs you own, for everybody, by turns.\n\nUsage: moulin VERB [options]\n";
  std::vector<Entry> all;
  for (const Verb& verb : verbs) all.push_back({std::string(verb.name), std::string(verb.summary)});
  size_t width = widest(all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || verbs[i].group != verbs[i - 1].group) text += heading(verbs[i].group, view);
    text += entries_text(std::span(all).subspan(i, 1), width, view);
  }
  text +=
      "\nEvery verb has --json, and --help with examples. A workload is named by its id,\n"
      "the beginning of its id, or its name. The server is found by itself; for another\n"
      "one: `moulin login`, or MOULIN_URL with MOULIN_TOKEN or MOULIN_TOKEN_FILE.\n\n"
      "Try: moulin run --gpu 0.25 -- python3 train.py\n";
  return text;
}

std::string topic_help(std::span<const Verb> verbs, std::string_view topic, const View& view) {
  std::vector<Entry> entries;
  std::string examples;
  for (const Verb& verb : verbs) {
    if (!verb.name.starts_with(fmt::format("{} ", topic))) continue;
    std::string name(verb.name);
    if (!verb.arguments.empty()) name += fmt::format(" {}", verb.arguments);
    entries.push_back({name, std::string(verb.summary)});
    examples += fmt::format("  {}\n", split(verb.examples, '\n').front());
  }
  return fmt::format(
      "Usage: moulin {} VERB [options]\n\n{}\nExamples:\n{}\nEach has a help of its own: moulin {} VERB --help\n",
      topic, entries_text(entries, widest(entries), view), examples, topic);
}

std::string verb_help(const Verb& verb, const View& view) {
  std::string text = fmt::format("moulin {}: {}\n\nUsage: {}\n\n", verb.name, verb.summary, usage_line(verb));
  std::vector<Entry> entries;
  auto add = [&](const OptionSpec& option) {
    std::string help(option.help);
    if (option.repeat == OptionSpec::Repeat::kMany) help += "; may be repeated";
    entries.push_back({option_words(option), help});
  };
  for (const OptionSpec& option : verb.options) add(option);
  for (const OptionSpec& option : common_options()) add(option);
  text += entries_text(entries, widest(entries), view);
  if (!verb.details.empty()) text += fmt::format("\n{}", verb.details);
  if (!text.ends_with('\n')) text += "\n";
  return text + fmt::format("\n{}:\n{}", verb.examples.find('\n') == std::string_view::npos ? "Example" : "Examples",
                            examples_text(verb.examples));
}

}  // namespace moulin::cli
