#include "cli/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"

namespace moulin::cli {

namespace {

constexpr OptionSpec kCommon[] = {
    {.name = "json", .help = "answer as JSON"},
    {.name = "help", .letter = 'h', .help = "show this"},
};

Error usage(std::string message, std::string given, std::string to_do) {
  return {.code = Code::kInvalid, .message = std::move(message), .given = shortened(given), .to_do = std::move(to_do)};
}

std::string see_help(const Verb& verb) { return fmt::format("see `moulin {} --help`", verb.name); }

std::string did_you_mean(std::string_view near, const std::string& otherwise) {
  return near.empty() ? otherwise : fmt::format("did you mean `{}`? {}", near, otherwise);
}

// The verb whose name is these words, or the first two of them.
const Verb* find_verb(std::span<const Verb> verbs, std::string_view first, std::string_view second) {
  const Verb* one_word = nullptr;
  for (const Verb& verb : verbs) {
    if (verb.name == first) one_word = &verb;
    if (!second.empty() && verb.name == fmt::format("{} {}", first, second)) return &verb;
  }
  return one_word;
}

Error no_such_verb(std::span<const Verb> verbs, std::string_view first, std::string_view second) {
  std::vector<std::string_view> seconds = second_words(verbs, first);
  if (!seconds.empty()) {
    std::string_view near = nearest_word(second, seconds);
    Error error = usage(second.empty() ? fmt::format("`{}` needs a second word", first)
                                       : fmt::format("`{}` has no `{}`", first, shortened(second)),
                        std::string(second), fmt::format("see `moulin {} --help`", first));
    error.allowed = words_text(seconds);
    if (!near.empty()) error.to_do = fmt::format("did you mean `moulin {} {}`?", first, near);
    return error;
  }
  std::span<const std::string_view> later = verbs_not_built();
  if (std::find(later.begin(), later.end(), first) != later.end()) {
    return usage(fmt::format("`moulin {}` is not built yet", first), "", "see `moulin --help` for what there is");
  }
  std::vector<std::string_view> firsts;
  for (const Verb& verb : verbs) firsts.push_back(verb.name.substr(0, verb.name.find(' ')));
  std::string_view habit = verb_of_habit(first);
  std::string_view near = habit.empty() ? nearest_word(first, firsts) : habit;
  return usage("no such verb", std::string(first), did_you_mean(near, "see `moulin --help`"));
}

// Reads what comes before `--`; knows the verb once its words have come.
class Parser {
 public:
  Parser(std::span<const Verb> verbs, std::span<const std::string_view> arguments) : verbs_(verbs), rest_(arguments) {}

  Result<Call> parse() {
    TRY(choose_verb());
    while (!rest_.empty()) {
      std::string_view argument = take();
      if (argument == "--") {
        call_.command.assign(rest_.begin(), rest_.end());
        has_tail_ = true;
        break;
      }
      if (argument.starts_with("--")) {
        TRY(long_option(argument.substr(2)));
      } else if (argument.size() > 1 && argument.front() == '-') {
        TRY(short_options(argument.substr(1)));
      } else {
        call_.words.emplace_back(argument);
      }
    }
    if (call_.verb != nullptr && !call_.wants_help) TRY(check_counts());
    return std::move(call_);
  }

 private:
  std::string_view take() {
    std::string_view argument = rest_.front();
    rest_ = rest_.subspan(1);
    return argument;
  }

  // Takes the verb from the front, and the common options before it.
  Status choose_verb() {
    while (!rest_.empty() && rest_.front().starts_with('-')) {
      std::string_view option = take();
      if (option == "--json") {
        call_.form = Form::kJson;
      } else if (option == "--help" || option == "-h") {
        call_.wants_help = true;
      } else if (option == "--version" || option == "-V") {
        substitute_ = {"version", "--client"};
        substitute_.insert(substitute_.end(), rest_.begin(), rest_.end());
        rest_ = substitute_;
      } else {
        return usage("unknown option before the verb", std::string(option),
                     "write: moulin VERB [options]; see `moulin --help`");
      }
    }
    if (!rest_.empty() && rest_.front() == "help") {
      take();
      call_.wants_help = true;
    }
    if (rest_.empty()) {
      call_.wants_help = true;
      return {};
    }
    std::string_view first = take();
    std::string_view second = !rest_.empty() && !rest_.front().starts_with('-') ? rest_.front() : "";
    call_.verb = find_verb(verbs_, first, second);
    if (call_.verb == nullptr && second.empty() && is_topic_help(first)) return {};
    if (call_.verb == nullptr) return no_such_verb(verbs_, first, second);
    if (call_.verb->name != first) take();
    return {};
  }

  // `project --help` and `help project`: the help of all verbs that begin so.
  bool is_topic_help(std::string_view first) {
    bool asks = call_.wants_help || (!rest_.empty() && (rest_.front() == "--help" || rest_.front() == "-h"));
    if (!asks || second_words(verbs_, first).empty()) return false;
    call_.wants_help = true;
    call_.topic = first;
    rest_ = {};
    return true;
  }

  const OptionSpec* find(auto matches) const {
    for (const OptionSpec& option : call_.verb->options) {
      if (matches(option)) return &option;
    }
    for (const OptionSpec& option : kCommon) {
      if (matches(option)) return &option;
    }
    return nullptr;
  }

  Status long_option(std::string_view text) {
    size_t equals = text.find('=');
    std::string_view name = text.substr(0, equals);
    const OptionSpec* option = find([&](const OptionSpec& spec) { return spec.name == name; });
    if (option == nullptr) return unknown_option(name);
    if (equals == std::string_view::npos) return set(*option, nullptr);
    std::string_view value = text.substr(equals + 1);
    return set(*option, &value);
  }

  // "-f", "-fFILE", "-df".
  Status short_options(std::string_view letters) {
    while (!letters.empty()) {
      char letter = letters.front();
      letters.remove_prefix(1);
      const OptionSpec* option = find([&](const OptionSpec& spec) { return spec.letter == letter; });
      if (option == nullptr) return usage("unknown option", fmt::format("-{}", letter), see_help(*call_.verb));
      if (!option->value.empty() && !letters.empty()) {
        std::string_view value = std::exchange(letters, {});
        TRY(set(*option, &value));
      } else {
        TRY(set(*option, nullptr));
      }
    }
    return {};
  }

  Status set(const OptionSpec& option, const std::string_view* attached) {
    if (option.value.empty()) {
      if (attached != nullptr)
        return usage(fmt::format("--{} takes no value", option.name), std::string(*attached), see_help(*call_.verb));
      if (option.name == "json") call_.form = Form::kJson;
      if (option.name == "help") call_.wants_help = true;
      call_.add(option.name, "");
      return {};
    }
    if (attached == nullptr && (rest_.empty() || rest_.front() == "--")) {
      return usage(fmt::format("--{} needs a value", option.name), "",
                   fmt::format("write --{} {}", option.name, option.value));
    }
    if (option.repeat == OptionSpec::Repeat::kOnce && call_.has(option.name)) {
      return usage(fmt::format("--{} is given twice", option.name), "", "write it once");
    }
    call_.add(option.name, std::string(attached != nullptr ? *attached : take()));
    return {};
  }

  Error unknown_option(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const OptionSpec& option : call_.verb->options) names.push_back(option.name);
    for (const OptionSpec& option : kCommon) names.push_back(option.name);
    std::string_view near = nearest_word(name, names);
    std::string meant = near.empty() ? "" : fmt::format("--{}", near);
    return usage("unknown option", fmt::format("--{}", name), did_you_mean(meant, see_help(*call_.verb)));
  }

  Status check_counts() const {
    const Verb& verb = *call_.verb;
    bool takes_command = verb.tail == Verb::Tail::kMayCommand;
    if (takes_command && has_tail_ && call_.command.empty()) {
      return usage("the command after `--` is empty", "", see_help(verb));
    }
    if (!takes_command && has_tail_) return usage("takes no command after `--`", "", see_help(verb));
    if (takes_command && verb.words_max == 0 && !call_.words.empty()) {
      return usage("a command stands after `--`", call_.words.front(),
                   fmt::format("write: moulin {} [options] -- CMD...", verb.name));
    }
    if (call_.words.size() < verb.words_min) {
      return usage(fmt::format("`moulin {}` needs {}", verb.name, verb.arguments), "", see_help(verb));
    }
    if (call_.words.size() > verb.words_max) {
      return usage("one word too many", call_.words[verb.words_max], see_help(verb));
    }
    return {};
  }

  std::span<const Verb> verbs_;
  std::span<const std::string_view> rest_;
  std::vector<std::string_view> substitute_;  // what --version stands for
  Call call_;
  bool has_tail_ = false;
};

}  // namespace

std::string_view Call::check_known(std::string_view option) const {
  auto is_it = [&](const OptionSpec& spec) { return spec.name == option; };
  MOULIN_CHECK(verb != nullptr);
  MOULIN_CHECK(std::any_of(verb->options.begin(), verb->options.end(), is_it) ||
                   std::any_of(std::begin(kCommon), std::end(kCommon), is_it),
               "asks for an option that the verb does not have");
  return option;
}

const std::string* Call::value(std::string_view option) const {
  auto found = values_.find(std::string(check_known(option)));
  return found == values_.end() ? nullptr : &found->second.back();
}

std::vector<std::string> Call::values(std::string_view option) const {
  auto found = values_.find(std::string(check_known(option)));
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::span<const OptionSpec> common_options() { return kCommon; }

Result<Call> parse_call(std::span<const Verb> verbs, std::span<const std::string_view> arguments) {
  return Parser(verbs, arguments).parse();
}

Result<int64_t> parse_integer(std::string_view what, std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  return Error{.code = Code::kInvalid,
               .message = "is no whole number",
               .field = std::string(what),
               .given = shortened(text),
               .allowed = "a whole number, such as 4"};
}

}  // namespace moulin::cli
