#include "main/surroundings.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "server/data_folder.h"
#include "server/secrets.h"

namespace moulin {

namespace {

Result<std::string> read_standard_input(size_t bytes_max) {
  std::string text;
  char part[65536];
  while (size_t size = std::fread(part, 1, sizeof part, stdin)) {
    text.append(part, size);
    if (text.size() <= bytes_max) continue;
    return Error{.code = Code::kTooLarge,
                 .message = "standard input is too long",
                 .allowed = std::to_string(bytes_max) + " bytes"};
  }
  return text;
}

}  // namespace

Surroundings read_surroundings() {
  std::error_code error;
  return {.variable =
              [](std::string_view name) {
                const char* value = std::getenv(std::string(name).c_str());
                return std::string(value == nullptr ? "" : value);
              },
          .folder = std::filesystem::current_path(error).string(),
          .is_root = ::geteuid() == 0,
          .read_file = [](const std::string& path, size_t bytes_max) -> Result<std::string> {
            return path == "-" ? read_standard_input(bytes_max) : read_file(path, bytes_max);
          },
          .random_hex = random_hex};
}

}  // namespace moulin
