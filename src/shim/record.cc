#include "shim/record.h"

#include <fmt/format.h>

namespace moulin {

Result<std::string_view> record_body(std::string_view kind, std::string_view bytes) {
  std::string first_line = record_first_line(kind);
  if (bytes.starts_with(first_line)) return bytes.substr(first_line.size());
  if (!bytes.starts_with(fmt::format("moulin-{} ", kind))) {
    return Error{.code = Code::kInvalid, .message = fmt::format("this is no {} file", kind)};
  }
  return Error{.code = Code::kRefused,
               .message = fmt::format("the {} file has a version that this program does not know", kind),
               .allowed = "version 1",
               .to_do = "use the version of moulin that wrote it"};
}

}  // namespace moulin
