// YAML files as Json values.
#pragma once

#include <string_view>

#include "base/json.h"

namespace moulin {

// One YAML 1.2 document. Plain scalars become null, booleans ("true", "false"), numbers
// (JSON's grammar) or strings; quoted ones are strings. Duplicate keys, anchors used
// more than once beyond `limits`, tags, several documents and non-UTF-8 are refused.
// Errors name the line and column.
Result<Json> parse_yaml(std::string_view text, JsonLimits limits = {});

// All documents of a file separated by `---`, at most 1,000.
Result<std::vector<Json>> parse_yaml_documents(std::string_view text, JsonLimits limits = {});

}  // namespace moulin
