// Users, tokens, roles.
#include "base/text.h"
#include "core/may.h"
#include "server/handlers/handlers.h"

namespace moulin::handle {

namespace {

template <class T>
std::optional<T> unless_empty(T value) {
  if (value == T{}) return std::nullopt;
  return value;
}

bool manages_system(const Call& call) { return may(call.state(), call.actor, Verb::kManageSystem, kRootTree); }

wire::User user_of(const Call& call, const User& user) {
  return {.name = user.name.text, .account = unless_empty(user.account), .created = call.wall(user.created)};
}

std::optional<WallTime> wall_or_null(const Call& call, Instant instant) {
  if (instant == Instant{}) return std::nullopt;
  return call.wall(instant);
}

wire::Token token_of(const Call& call, const Token& token) {
  return {.id = token.id,
          .user = token.user.text,
          .label = token.label,
          .issued = call.wall(token.issued),
          .expires = wall_or_null(call, token.expires),
          .workload = unless_empty(token.workload)};
}

wire::Binding binding_of(const Binding& binding) {
  return {.user = binding.user.text, .at = binding.at.text, .role = binding.role};
}

// The token that this request carries: authenticate() found it a moment ago.
const Token* own_token(const Call& call) {
  const std::string* header = find_header(call.request.headers, "authorization");
  if (header == nullptr) return nullptr;
  Result<TokenText> text = parse_token(header->substr(header->find(' ') + 1));
  const Cow<Token>* token = text ? call.state().tokens.find(text->id) : nullptr;
  return token == nullptr ? nullptr : &**token;
}

Result<NewToken> read_new_token(const Call& call) {
  auto body = TRY(wire::read_body<wire::NewToken>(call.request));
  NewToken made = make_token({call.world.next_id()}, UserName{body.user.value_or(call.actor.user.text)});
  made.token.label = body.label;
  made.token.issued = call.now();
  if (!body.expires_in) return made;
  Result<Duration> lasts = parse_duration(*body.expires_in);
  if (!lasts || *lasts == Duration{}) {
    return Error{.code = Code::kInvalid,
                 .message = "not a duration",
                 .field = "expires_in",
                 .given = *body.expires_in,
                 .allowed = "a duration such as 12h or 30d"};
  }
  made.token.expires = call.now() + *lasts;
  return made;
}

wire::Myself myself(const Call& call) {
  wire::Myself out{.user = call.actor.user.text,
                   .workload = unless_empty(call.actor.workload),
                   .can_isolate_users = call.world.facts.isolates_users};
  if (const Cow<User>* user = call.state().users.find(call.actor.user)) out.account = unless_empty((*user)->account);
  if (const Token* token = own_token(call)) {
    out.token = token->id;
    out.label = token->label;
    out.expires = wall_or_null(call, token->expires);
  }
  for (const auto& [binding, held] : call.state().bindings) {
    if (binding.user == call.actor.user) out.roles.push_back(binding_of(binding));
  }
  return out;
}

Result<Response> list_page_of_users(const Call& call) {
  auto wanted = TRY(parameters<wire::ListUsers>(call));
  UserName after{TRY(read_cursor(wanted.cursor))};
  bool all = manages_system(call);
  wire::UserList page;
  auto make = [&](const auto& entry) -> std::optional<wire::User> {
    if (!all && entry.first != call.actor.user) return std::nullopt;
    return user_of(call, *entry.second);
  };
  const auto& users = call.state().users;
  fill_page(page, behind(users, after), users.end(), wanted.limit, make,
            [](const UserName& name) { return name.text; });
  return ok(page);
}

Result<Response> list_page_of_tokens(const Call& call) {
  auto wanted = TRY(parameters<wire::ListTokens>(call));
  std::string cursor = TRY(read_cursor(wanted.cursor));
  TokenId after;
  if (!cursor.empty()) after = {TRY(parse_id(TokenTag::kPrefix, cursor))};
  bool all = manages_system(call);
  wire::TokenList page;
  auto make = [&](const auto& entry) -> std::optional<wire::Token> {
    const Token& token = *entry.second;
    if (!all && token.user != call.actor.user) return std::nullopt;
    if (wanted.user && token.user.text != *wanted.user) return std::nullopt;
    return token_of(call, token);
  };
  const auto& tokens = call.state().tokens;
  fill_page(page, behind(tokens, after), tokens.end(), wanted.limit, make, [](TokenId id) { return to_text(id); });
  return ok(page);
}

// "ann/nlp/member": no name has a slash.
std::string binding_text(const Binding& binding) {
  return binding.user.text + "/" + binding.at.text + "/" + std::string(to_text(binding.role));
}

Result<Binding> read_binding_text(const std::string& text) {
  if (text.empty()) return Binding{};
  std::vector<std::string_view> parts = split(text, '/');
  std::optional<Role> role = parts.size() == 3 ? from_text<Role>(parts[2]) : std::nullopt;
  if (role) return Binding{.user = UserName(parts[0]), .at = TreeName(parts[1]), .role = *role};
  return Error{.code = Code::kInvalid, .message = "not a cursor", .field = "cursor", .given = text};
}

Result<Response> list_page_of_bindings(const Call& call) {
  auto wanted = TRY(parameters<wire::ListBindings>(call));
  std::string cursor = TRY(read_cursor(wanted.cursor));
  Binding after = TRY(read_binding_text(cursor));
  wire::BindingList page;
  auto make = [&](const auto& entry) -> std::optional<wire::Binding> {
    const Binding& binding = entry.first;
    if ((wanted.user && binding.user.text != *wanted.user) || (wanted.at && binding.at.text != *wanted.at))
      return std::nullopt;
    bool visible = binding.user == call.actor.user || may(call.state(), call.actor, Verb::kManageTree, binding.at);
    if (!visible) return std::nullopt;
    return binding_of(binding);
  };
  const auto& bindings = call.state().bindings;
  fill_page(page, behind(bindings, after), bindings.end(), wanted.limit, make, binding_text);
  return ok(page);
}

Respond respond_nothing() {
  return [](const Call&, const Events&) { return nothing(); };
}

}  // namespace

void list_users(Call call) { finish(call, list_page_of_users(call)); }

namespace {

Respond respond_user(const UserName& name, int status) {
  return [name, status](const Call& answered, const Events&) {
    return ok(user_of(answered, *answered.state().users.at(name)), status);
  };
}

}  // namespace

void create_user(Call call) {
  Result<wire::NewUser> body = wire::read_body<wire::NewUser>(call.request);
  if (!body) return call.responder.answer(problem_response(body.error()));
  UserName name{body->name};
  give_command(std::move(call), command::CreateUser{name, body->account.value_or("")}, respond_user(name, 201));
}

void change_user(Call call) {
  Result<wire::UserChange> body = wire::read_body<wire::UserChange>(call.request);
  if (!body) return call.responder.answer(problem_response(body.error()));
  UserName name{call.values.at(0)};
  give_command(std::move(call), command::ChangeUser{name, body->account}, respond_user(name, 200));
}

void remove_user(Call call) {
  UserName name{call.values.at(0)};
  give_command(std::move(call), command::RemoveUser{name}, respond_nothing());
}

void list_tokens(Call call) { finish(call, list_page_of_tokens(call)); }

void issue_token(Call call) {
  Result<NewToken> made = read_new_token(call);
  if (!made) return call.responder.answer(problem_response(made.error()));
  Token token = made->token;
  give_command(std::move(call), command::IssueToken{token},
               [made = std::move(*made)](const Call& answered, const Events&) {
                 wire::Token shown = token_of(answered, made.token);
                 return ok(wire::IssuedToken{.id = shown.id,
                                             .user = shown.user,
                                             .label = shown.label,
                                             .issued = shown.issued,
                                             .expires = shown.expires,
                                             .secret = made.text},
                           201);
               });
}

void revoke_token(Call call) {
  Result<wire::RevokeToken> wanted = parameters<wire::RevokeToken>(call);
  if (!wanted) return call.responder.answer(problem_response(wanted.error()));
  give_command(std::move(call), command::RevokeToken{wanted->token}, respond_nothing());
}

void list_bindings(Call call) { finish(call, list_page_of_bindings(call)); }

void grant_role(Call call) {
  Result<wire::NewBinding> body = wire::read_body<wire::NewBinding>(call.request);
  if (!body) return call.responder.answer(problem_response(body.error()));
  Binding binding{UserName{body->user}, TreeName{body->at}, body->role};
  give_command(std::move(call), command::GrantRole{binding},
               [binding](const Call&, const Events&) { return ok(binding_of(binding), 201); });
}

void revoke_role(Call call) {
  Result<wire::RevokeRole> wanted = parameters<wire::RevokeRole>(call);
  if (!wanted) return call.responder.answer(problem_response(wanted.error()));
  Binding binding{UserName{wanted->user}, TreeName{wanted->at}, wanted->role};
  give_command(std::move(call), command::RevokeRole{binding}, respond_nothing());
}

void who_am_i(Call call) { call.responder.answer(ok(myself(call))); }

}  // namespace moulin::handle
