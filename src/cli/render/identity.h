// People and their rights as text: `user`, `token`, `role`, `whoami`.
#pragma once

#include <string>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin::cli {

// With what each may and where.
std::string render_users(const wire::UserList& users, const wire::BindingList& roles, const View& view);
std::string render_plain_users(const wire::UserList& users, const View& view);
std::string render_tokens(const wire::TokenList& tokens, const View& view);
std::string render_bindings(const wire::BindingList& bindings, const View& view);
// With the secret, which is shown this once.
std::string render_issued_token(const wire::IssuedToken& token, const View& view);

// Which server was asked, and how it and the token were found.
struct Whereabouts {
  std::string server{};
  std::string server_from{};
  std::string token_from{};
};
std::string render_myself(const wire::Myself& myself, const Whereabouts& where, const View& view);

}  // namespace moulin::cli
