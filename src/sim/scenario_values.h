// Small readers that several parts of a scenario share.
#pragma once

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/share.h"

namespace moulin::scenario {

// A member that must be there and be text.
inline Result<std::string> require_text(const ObjectReader& reader, std::string_view name) {
  const Json& value = *TRY(reader.require(name));
  return read_text(value, reader.path_of(name), {});
}

// A list of texts, at most 1,000.
inline Result<std::vector<std::string>> read_texts(const Json& value, std::string_view path) {
  const JsonArray& items = *TRY(read_list(value, path, 1'000));
  std::vector<std::string> texts;
  for (size_t i = 0; i < items.size(); ++i) texts.push_back(TRY(read_text(items[i], item_path(path, i), {})));
  return texts;
}

// 0.25 is 250.
inline Result<int64_t> read_milli(const Json& value, std::string_view path) {
  std::string text = TRY(read_amount_text(value, path, "a number with at most three digits after the point"));
  return at_path(path, parse_milli(text));
}

}  // namespace moulin::scenario
