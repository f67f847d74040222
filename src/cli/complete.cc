#include "cli/complete.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/call.h"

namespace moulin::cli {

namespace {

// Collects what begins with the current word.
class Collector {
 public:
  explicit Collector(std::string_view current) : current_(current) {}
  void add(std::string_view text, std::string_view help) {
    if (text.starts_with(current_)) found_.candidates.push_back({std::string(text), std::string(help)});
  }
  void add_value(std::string_view word) {
    const ValueWord* known = find_value_word(word);
    if (known == nullptr) return add(word, "");  // a word that stands for itself, such as `at`
    found_.source = known->source;
    for (std::string_view value : known->values) add(value, "");
  }
  Completion take() { return std::move(found_); }

 private:
  std::string_view current_;
  Completion found_;
};

bool has_name(const OptionSpec& option, std::string_view written) {
  if (written.starts_with("--")) return option.name == written.substr(2);
  return option.letter != 0 && written.size() == 2 && written[0] == '-' && written[1] == option.letter;
}

const OptionSpec* find_option(const Verb& verb, std::string_view written) {
  for (std::span<const OptionSpec> options : {verb.options, common_options()}) {
    auto found = std::ranges::find_if(options, [&](const OptionSpec& option) { return has_name(option, written); });
    if (found != options.end()) return &*found;
  }
  return nullptr;
}

void add_first_words(std::span<const Verb> verbs, Collector& to) {
  std::string_view last;
  for (const Verb& verb : verbs) {
    size_t blank = verb.name.find(' ');
    std::string_view first = verb.name.substr(0, blank);
    if (first == last) continue;
    last = first;
    std::vector<std::string_view> seconds = second_words(verbs, first);
    bool is_topic = blank != std::string_view::npos;
    to.add(first, is_topic ? words_text(seconds) : std::string(verb.summary));
  }
  to.add("help", "of a verb");
}

struct Position {
  const Verb* verb = nullptr;
  std::string_view topic{};                 // the first of two words, when the second is next
  std::vector<std::string_view> given{};    // options so far
  const OptionSpec* needs_value = nullptr;  // the option before takes the current word
  size_t words = 0;                         // plain words behind the verb
  bool in_command = false;                  // behind `--`
};

Position position_of(std::span<const Verb> verbs, std::span<const std::string_view> before) {
  Position position;
  auto named = [&](std::string_view name) {
    auto found = std::ranges::find(verbs, name, &Verb::name);
    return found == verbs.end() ? nullptr : &*found;
  };
  for (std::string_view word : before) {
    if (position.in_command) continue;
    if (position.needs_value != nullptr) {
      position.needs_value = nullptr;
    } else if (position.verb == nullptr && !position.topic.empty()) {
      position.verb = named(fmt::format("{} {}", position.topic, word));
    } else if (position.verb == nullptr && !word.starts_with('-') && word != "help") {
      position.verb = named(word);
      if (position.verb == nullptr) position.topic = word;
    } else if (word == "--") {
      position.in_command = true;
    } else if (position.verb != nullptr && word.starts_with('-')) {
      position.given.push_back(word);
      const OptionSpec* option = find_option(*position.verb, word);
      if (option != nullptr && !option->value.empty()) position.needs_value = option;
    } else {
      ++position.words;
    }
  }
  return position;
}

void add_options(const Position& position, Collector& to) {
  for (std::span<const OptionSpec> options : {position.verb->options, common_options()}) {
    for (const OptionSpec& option : options) {
      auto is_it = [&](std::string_view written) { return has_name(option, written); };
      bool again = option.repeat == OptionSpec::Repeat::kMany || std::ranges::none_of(position.given, is_it);
      if (again) to.add(fmt::format("--{}", option.name), option.help);
    }
  }
}

// The word of the help at that place: ROLE in "USER ROLE at PLACE"; brackets mean optional.
void add_argument(const Verb& verb, size_t index, Collector& to) {
  std::vector<std::string_view> words = split(verb.arguments, ' ');
  if (index >= words.size() || words[index].empty()) return;
  std::string_view word = words[index];
  if (word.starts_with('[')) word = word.substr(1, word.size() - 2);
  to.add_value(word);
}

}  // namespace

Completion complete(std::span<const Verb> verbs, std::span<const std::string_view> before, std::string_view current) {
  Collector to(current);
  Position position = position_of(verbs, before);
  if (position.in_command) return {.source = ValueSource::kCommand};
  if (position.needs_value != nullptr) {
    to.add_value(position.needs_value->value);
  } else if (position.verb == nullptr && !position.topic.empty()) {
    for (const Verb& verb : verbs) {
      std::string begin = fmt::format("{} ", position.topic);
      if (verb.name.starts_with(begin)) to.add(verb.name.substr(begin.size()), verb.summary);
    }
  } else if (position.verb == nullptr) {
    add_first_words(verbs, to);
  } else if (current.starts_with('-')) {
    add_options(position, to);
  } else {
    add_argument(*position.verb, position.words, to);
    if (position.verb->tail == Verb::Tail::kMayCommand) to.add("--", "the command follows");
  }
  return to.take();
}

}  // namespace moulin::cli
