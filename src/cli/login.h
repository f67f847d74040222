// What `moulin login` keeps: one server and a token for it, in a file that only its owner
// can read.
#pragma once

#include <optional>
#include <string>

#include "cli/surroundings.h"

namespace moulin::cli {

struct Login {
  std::string url;  // as to_text(Endpoint) has it
  std::string token;
};

// $XDG_CONFIG_HOME/moulin/login.json or ~/.config/moulin/login.json; empty when neither
// variable is set.
std::string login_file(const Surroundings& surroundings);

// Nothing when nobody logged in. kInvalid, kForbidden: the file is not ours or not whole.
Result<std::optional<Login>> read_login(const Surroundings& surroundings);

// Replaces the login before.
Status write_login(const Surroundings& surroundings, const Login& login);

// A token stands on one line and has no blanks. `from` names where it stood, for the Error.
Result<std::string> clean_token(std::string text, std::string_view from);

}  // namespace moulin::cli
