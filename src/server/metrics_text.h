// The text format of Prometheus, version 0.0.4. Names have the prefix moulin_ and end with
// their unit; counters end with _total.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/instant.h"

namespace moulin {

class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Begins a family; its samples follow. `name` is without prefix, `help` a line.
  void family(std::string_view name, std::string_view type, std::string_view help);
  // `suffix` is for the parts of a histogram: "_bucket", "_sum", "_count".
  void sample(const Labels& labels, int64_t value, std::string_view suffix = {});
  void sample(const Labels& labels, Duration seconds, std::string_view suffix = {});

  // A family of one sample without labels.
  template <class Value>
  void figure(std::string_view name, std::string_view type, std::string_view help, Value value) {
    family(name, type, help);
    sample({}, value);
  }

  std::string take() { return std::move(text_); }

 private:
  void begin_sample(const Labels& labels, std::string_view suffix);

  std::string name_;
  std::string text_;
};

}  // namespace moulin
