// Users, tokens, roles.
#include "base/text.h"
#include "core/decide_parts.h"
#include "core/may.h"

namespace moulin {

namespace {

constexpr size_t kUsersMax = 100'000;
constexpr size_t kTokensOfUserMax = 100;
constexpr size_t kHashBytes = 32;

Error no_such_user(const UserName& name) {
  return {.code = Code::kNotFound,
          .message = "no such user",
          .field = "user",
          .given = name.text,
          .to_do = "run `moulin user list`"};
}

Status check_account(std::string_view account) {
  if (account.empty() || (check_name("Unix account", account) && account.size() <= 32)) return {};
  return Error{.code = Code::kInvalid,
               .message = "not a Unix account",
               .field = "account",
               .given = shortened(account),
               .allowed = "at most 32 lower-case letters, digits, '-', '.' and '_'"};
}

bool is_last_admin(const State& state, const UserName& user) {
  for (const auto& [binding, held] : state.bindings) {
    if (binding.at == kRootTree && binding.role == Role::kAdmin && binding.user != user) return false;
  }
  return state.bindings.contains({user, kRootTree, Role::kAdmin});
}

Status keep_an_admin(const State& state, const UserName& user) {
  if (!is_last_admin(state, user)) return {};
  return Error{.code = Code::kConflict,
               .message = user.text + " is the last administrator",
               .given = user.text,
               .to_do = "give somebody else the role admin at the organisation first"};
}

}  // namespace

Status judge(Case& c, const command::CreateUser& command) {
  TRY(require(c.state(), c.actor(), Verb::kManageSystem, kRootTree));
  TRY(check_name("user", command.name.text));
  TRY(check_account(command.account));
  if (c.state().users.contains(command.name)) {
    return Error{
        .code = Code::kConflict, .message = "a user of this name exists", .field = "name", .given = command.name.text};
  }
  if (c.state().users.size() >= kUsersMax) {
    return Error{.code = Code::kTooLarge, .message = "too many users", .allowed = std::to_string(kUsersMax)};
  }
  c.happens(event::UserCreated{{.name = command.name, .account = command.account, .created = c.at()}});
  return {};
}

Status judge(Case& c, const command::ChangeUser& command) {
  TRY(require(c.state(), c.actor(), Verb::kManageSystem, kRootTree));
  TRY(check_account(command.account));
  const Cow<User>* user = c.state().users.find(command.name);
  if (user == nullptr) return no_such_user(command.name);
  if ((*user)->account == command.account) return {};
  c.happens(event::UserChanged{.name = command.name, .account = command.account});
  return {};
}

Status judge(Case& c, const command::RemoveUser& command) {
  TRY(require(c.state(), c.actor(), Verb::kManageSystem, kRootTree));
  if (!c.state().users.contains(command.name)) return no_such_user(command.name);
  TRY(keep_an_admin(c.state(), command.name));
  for (const auto& [id, workload] : c.state().workloads) {
    if (workload->owner != command.name || is_finished(workload->state)) continue;
    return Error{.code = Code::kConflict,
                 .message = command.name.text + " still owns the workload " + workload->spec.name,
                 .given = to_text(id),
                 .to_do = "stop it, or wait until it has ended"};
  }
  c.happens(event::UserRemoved{command.name});
  return {};
}

Status judge(Case& c, const command::IssueToken& command) {
  const Token& token = command.token;
  MOULIN_CHECK(token.id && token.hash.size() == kHashBytes && !c.state().tokens.contains(token.id),
               "made by the shell");
  if (token.user != c.actor().user || c.actor().workload)
    TRY(require(c.state(), c.actor(), Verb::kManageSystem, kRootTree));
  if (!c.state().users.contains(token.user)) return no_such_user(token.user);
  if (token.label.size() > 100 || !is_utf8(token.label)) {
    return Error{.code = Code::kInvalid,
                 .message = "not a label",
                 .field = "label",
                 .given = shortened(token.label),
                 .allowed = "at most 100 bytes of text"};
  }
  if (token.expires != Instant{} && token.expires <= c.at()) {
    return Error{.code = Code::kInvalid, .message = "the token would have expired already", .field = "expires"};
  }
  size_t held = 0;
  for (const auto& [id, other] : c.state().tokens) held += other->user == token.user ? 1 : 0;
  if (held >= kTokensOfUserMax) {
    return Error{.code = Code::kConflict,
                 .message = token.user.text + " has too many tokens",
                 .allowed = std::to_string(kTokensOfUserMax),
                 .to_do = "revoke one with `moulin token revoke`"};
  }
  c.happens(event::TokenIssued{token});
  return {};
}

Status judge(Case& c, const command::RevokeToken& command) {
  const Cow<Token>* token = c.state().tokens.find(command.id);
  bool own = token != nullptr && (*token)->user == c.actor().user;
  if (!own) TRY(require(c.state(), c.actor(), Verb::kManageSystem, kRootTree));
  if (token == nullptr) {
    return Error{.code = Code::kNotFound,
                 .message = "no such token",
                 .given = to_text(command.id),
                 .to_do = "run `moulin token list`"};
  }
  c.happens(event::TokenRevoked{command.id});
  return {};
}

Status judge(Case& c, const command::GrantRole& command) {
  const Binding& binding = command.binding;
  TRY(require(c.state(), c.actor(), Verb::kManageTree, binding.at));
  if (!c.state().users.contains(binding.user)) return no_such_user(binding.user);
  if (!c.state().tree.contains(binding.at)) {
    return Error{
        .code = Code::kNotFound, .message = "no such project or department", .field = "at", .given = binding.at.text};
  }
  if (c.state().bindings.contains(binding)) return {};
  c.happens(event::RoleGranted{binding});
  return {};
}

Status judge(Case& c, const command::RevokeRole& command) {
  const Binding& binding = command.binding;
  TRY(require(c.state(), c.actor(), Verb::kManageTree, binding.at));
  if (!c.state().bindings.contains(binding)) {
    return Error{.code = Code::kNotFound,
                 .message = binding.user.text + " does not have this role at " + binding.at.text,
                 .given = std::string(to_text(binding.role))};
  }
  if (binding.at == kRootTree && binding.role == Role::kAdmin) TRY(keep_an_admin(c.state(), binding.user));
  c.happens(event::RoleRevoked{binding});
  return {};
}

}  // namespace moulin
