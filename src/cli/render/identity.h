// People and their rights as text: `user`, `token`, `role`, `whoami`.
#pragma once

#include <string>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin {

std::string render_users(const wire::UserList& users, const View& view);
std::string render_tokens(const wire::TokenList& tokens, const View& view);
std::string render_bindings(const wire::BindingList& bindings, const View& view);
// With the secret, which is shown this once.
std::string render_issued_token(const wire::IssuedToken& token, const View& view);
std::string render_myself(const wire::Myself& myself, const View& view);

}  // namespace moulin
