// Users, tokens, roles.
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

Respond respond_nothing() {
  return [](const Call&, const Events&) { return nothing(); };
}

}  // namespace

void list_users(Call call) {
  wire::UserList out;
  for (const auto& [name, user] : call.state().users) {
    if (name == call.actor.user || manages_system(call)) out.items.push_back(user_of(call, *user));
  }
  call.responder.answer(ok(out));
}

void create_user(Call call) {
  Result<wire::NewUser> body = wire::read_body<wire::NewUser>(call.request);
  if (!body) return call.responder.answer(problem_response(body.error()));
  UserName name{body->name};
  give_command(std::move(call), command::CreateUser{name, body->account.value_or("")},
               [name](const Call& answered, const Events&) {
                 return ok(user_of(answered, *answered.state().users.at(name)), 201);
               });
}

void remove_user(Call call) {
  UserName name{call.values.at(0)};
  give_command(std::move(call), command::RemoveUser{name}, respond_nothing());
}

void list_tokens(Call call) {
  wire::TokenList out;
  for (const auto& [id, token] : call.state().tokens) {
    if (token->user == call.actor.user || manages_system(call)) out.items.push_back(token_of(call, *token));
  }
  call.responder.answer(ok(out));
}

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

void list_bindings(Call call) {
  wire::BindingList out;
  for (const auto& [binding, held] : call.state().bindings) {
    bool visible = binding.user == call.actor.user || may(call.state(), call.actor, Verb::kManageTree, binding.at);
    if (visible) out.items.push_back(binding_of(binding));
  }
  call.responder.answer(ok(out));
}

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
