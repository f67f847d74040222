// user, token, role.
#include "cli/render/identity.h"
#include "cli/commands/groups.h"
#include "cli/commands/pages.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "People";

// With their roles, which the API lists apart.
Result<int> user_list(Session& session) {
  wire::UserList users = TRY(pages_of(session, wire::ListUsers{}, kItemsMax));
  if (session.console().is_json()) return session.show(users, render_plain_users);
  wire::BindingList roles = TRY(pages_of(session, wire::ListBindings{}, kItemsMax));
  session.console().print(render_users(users, roles, session.console().view()));
  return 0;
}

Result<int> user_create(Session& session) {
  wire::NewUser user{.name = session.call().words.front()};
  if (const std::string* account = session.call().value("account")) user.account = *account;
  wire::User made = TRY(session.ask(wire::CreateUser{}, user));
  if (session.console().is_json()) {
    session.console().print_json(wire::write(made));
  } else {
    session.console().print(render_plain_users({.items = {made}, .next = {}}, session.console().view()));
    session.console().note("They may do nothing yet: moulin role grant " + made.name + " member at PROJECT");
  }
  return 0;
}

Result<int> user_set(Session& session) {
  const Call& call = session.call();
  const std::string* account = call.value("account");
  if ((account != nullptr) == call.has("no-account")) {
    return Error{
        .code = Code::kInvalid,
        .message = account != nullptr ? "--account and --no-account contradict each other" : "nothing is to be set",
        .to_do = "write --account ACCOUNT, or --no-account to take it away"};
  }
  wire::UserChange change{.account = account != nullptr ? *account : ""};
  wire::User user = TRY(session.ask(wire::ChangeUser{.user = call.words.front()}, change));
  return session.show(wire::UserList{.items = {user}}, render_plain_users);
}

Result<int> user_delete(Session& session) {
  TRY(session.ask(wire::RemoveUser{.user = session.call().words.front()}));
  session.console().note("Removed " + session.call().words.front() + " with all tokens and roles.");
  return 0;
}

Result<int> token_list(Session& session) {
  return session.show(TRY(pages_of(session, wire::ListTokens{}, kItemsMax)), render_tokens);
}

Result<int> token_create(Session& session) {
  wire::NewToken token;
  if (const std::string* user = session.call().value("user")) token.user = *user;
  if (const std::string* label = session.call().value("label")) token.label = *label;
  if (const std::string* expires = session.call().value("expires")) token.expires_in = *expires;
  return session.show(TRY(session.ask(wire::IssueToken{}, token)), render_issued_token);
}

Result<int> token_revoke(Session& session) {
  const std::string& text = session.call().words.front();
  TokenId id{TRY(at_path("TOKEN", parse_id(TokenTag::kPrefix, text)))};
  TRY(session.ask(wire::RevokeToken{.token = id}));
  session.console().note("Revoked " + text + ".");
  return 0;
}

Result<int> role_list(Session& session) {
  return session.show(TRY(pages_of(session, wire::ListBindings{}, kItemsMax)), render_bindings);
}

// USER ROLE at PLACE.
Result<wire::Binding> read_binding(const Call& call) {
  const std::vector<std::string>& words = call.words;
  if (words[2] != "at") {
    return Error{.code = Code::kInvalid,
                 .message = "is no sentence of this verb",
                 .given = words[2],
                 .allowed = "USER ROLE at PLACE, such as: ada member at nlp"};
  }
  return wire::Binding{
      .user = words[0], .at = words[3], .role = TRY(at_path("ROLE", parse_word<Role>("role", words[1])))};
}

Result<int> role_grant(Session& session) {
  wire::Binding binding = TRY(read_binding(session.call()));
  wire::NewBinding wanted{.user = binding.user, .at = binding.at, .role = binding.role};
  wire::BindingList given{.items = {TRY(session.ask(wire::GrantRole{}, wanted))}, .next = {}};
  return session.show(given, render_bindings);
}

Result<int> role_revoke(Session& session) {
  wire::Binding binding = TRY(read_binding(session.call()));
  TRY(session.ask(wire::RevokeRole{.user = binding.user, .at = binding.at, .role = binding.role}));
  session.console().note("Taken back.");
  return 0;
}

constexpr OptionSpec kUserOptions[] = {
    {.name = "account", .value = "ACCOUNT", .help = "Unix account that runs their replicas"}};
constexpr OptionSpec kUserSetOptions[] = {
    {.name = "account", .value = "ACCOUNT", .help = "Unix account that runs their replicas"},
    {.name = "no-account", .help = "none: where root serves, nothing of theirs starts"}};
constexpr OptionSpec kTokenOptions[] = {
    {.name = "user", .value = "USER", .help = "for this user (unless given: yourself)"},
    {.name = "label", .value = "TEXT", .help = "what it is for"},
    {.name = "expires", .value = "DURATION", .help = "such as 30d (unless given: never)"}};

constexpr std::string_view kRoleDetails =
    "A role is viewer (sees), member (also submits, and stops what is their own) or admin\n"
    "(everything). PLACE is a project, a department or `organisation`; a role holds for all\n"
    "below it.\n";

constexpr Verb kVerbs[] = {
    {.name = "user list",
     .group = kGroup,
     .summary = "users and what they may",
     .examples = "moulin user list",
     .run = user_list},
    {.name = "user create",
     .group = kGroup,
     .arguments = "NAME",
     .words_min = 1,
     .words_max = 1,
     .summary = "a new user",
     .options = kUserOptions,
     .details = "They need a role and a token of their own: see the examples.\n",
     .examples = "moulin user create ada --account ada\n"
                 "moulin role grant ada member at nlp\n"
                 "moulin token create --user ada --expires 90d",
     .run = user_create},
    {.name = "user set",
     .group = kGroup,
     .arguments = "USER",
     .words_min = 1,
     .words_max = 1,
     .summary = "change the account that runs their work",
     .options = kUserSetOptions,
     .details = "Replicas that run already keep the account that they were started under.\n",
     .examples = "moulin user set ada --account ada",
     .run = user_set},
    {.name = "user delete",
     .group = kGroup,
     .arguments = "USER",
     .words_min = 1,
     .words_max = 1,
     .summary = "remove a user with all tokens and roles",
     .examples = "moulin user delete ada",
     .run = user_delete},
    {.name = "token list",
     .group = kGroup,
     .summary = "your tokens; an administrator sees all",
     .examples = "moulin token list",
     .run = token_list},
    {.name = "token create",
     .group = kGroup,
     .summary = "a new token; it is shown this once",
     .options = kTokenOptions,
     .examples = "moulin token create --label laptop --expires 30d\nmoulin token create --user ada",
     .run = token_create},
    {.name = "token revoke",
     .group = kGroup,
     .arguments = "TOKEN",
     .words_min = 1,
     .words_max = 1,
     .summary = "make a token worthless",
     .examples = "moulin token revoke t-6h3175y4jes77",
     .run = token_revoke},
    {.name = "role list",
     .group = kGroup,
     .summary = "who may what and where",
     .examples = "moulin role list",
     .run = role_list},
    {.name = "role grant",
     .group = kGroup,
     .arguments = "USER ROLE at PLACE",
     .words_min = 4,
     .words_max = 4,
     .summary = "let a user be viewer, member or admin somewhere",
     .details = kRoleDetails,
     .examples = "moulin role grant ada member at nlp\nmoulin role grant grace admin at organisation",
     .run = role_grant},
    {.name = "role revoke",
     .group = kGroup,
     .arguments = "USER ROLE at PLACE",
     .words_min = 4,
     .words_max = 4,
     .summary = "take a role back",
     .details = kRoleDetails,
     .examples = "moulin role revoke ada member at nlp",
     .run = role_revoke},
};

}  // namespace

std::span<const Verb> identity_verbs() { return kVerbs; }

}  // namespace moulin::cli
