#include "server/metrics_text.h"

#include <fmt/format.h>

namespace moulin {

namespace {

std::string escaped(std::string_view value) {
  std::string text;
  for (char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

}  // namespace

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = "moulin_" + std::string(name);
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
}

void MetricsText::begin_sample(const Labels& labels, std::string_view suffix) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const auto& [name, value] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", before, name, escaped(value));
    before = ',';
  }
  text_ += before == ',' ? "} " : " ";
}

void MetricsText::sample(const Labels& labels, int64_t value, std::string_view suffix) {
  begin_sample(labels, suffix);
  text_ += fmt::format("{}\n", value);
}

void MetricsText::sample(const Labels& labels, Duration seconds, std::string_view suffix) {
  begin_sample(labels, suffix);
  text_ += fmt::format("{}\n", static_cast<double>(seconds.us) / 1e6);
}

}  // namespace moulin
