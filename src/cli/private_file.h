// Files that only their owner can read.
#pragma once

#include <string>

#include "base/result.h"

namespace moulin::cli {

// Writes it with mode 0600, whole or not at all: what was there before stays if it fails.
// Makes its folders with mode 0700. Does not follow a link in its place.
Status write_private_file(const std::string& path, const std::string& text);

// kNotFound when there is none.
Status remove_private_file(const std::string& path);

}  // namespace moulin::cli
