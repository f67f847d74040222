#include "cli/render/identity.h"

#include <fmt/format.h>

#include "cli/access.h"
#include "cli/table.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

std::string expiry_text(const std::optional<WallTime>& expires, const View& view) {
  return expires ? relative_text(*expires, view) : "never";
}

bool is_over(const std::optional<WallTime>& expires, const View& view) { return expires && *expires <= view.now; }

}  // namespace

std::string render_users(const wire::UserList& users, const wire::BindingList& roles, const View& view) {
  if (users.items.empty()) return "No users that you may see.\n";
  Table table({{"NAME"}, {"ACCOUNT"}, {"MADE"}, {"ROLES"}});
  for (const wire::User& user : users.items) {
    std::string held;
    for (const wire::Binding& role : roles.items) {
      if (role.user != user.name) continue;
      held += fmt::format("{}{} at {}", held.empty() ? "" : ", ", to_text(role.role), role.at);
    }
    table.add({{user.name}, {user.account.value_or("")}, {relative_text(user.created, view)}, {held}});
  }
  return table.text(view);
}

std::string render_plain_users(const wire::UserList& users, const View& view) { return render_users(users, {}, view); }

std::string render_tokens(const wire::TokenList& tokens, const View& view) {
  if (tokens.items.empty()) return "No tokens that you may see.\n";
  Table table({{"ID", Align::kLeft, Fit::kWhole}, {"USER"}, {"ISSUED"}, {"EXPIRES"}, {"OF WORKLOAD"}, {"FOR"}});
  for (const wire::Token& token : tokens.items) {
    table.add({{to_text(token.id)},
               {token.user},
               {relative_text(token.issued, view)},
               {expiry_text(token.expires, view), is_over(token.expires, view) ? Ink::kRed : Ink::kPlain},
               {token.workload ? to_text(*token.workload) : ""},
               {token.label}});
  }
  return table.text(view);
}

std::string render_bindings(const wire::BindingList& bindings, const View& view) {
  if (bindings.items.empty()) return "No roles that you may see.\n";
  Table table({{"USER"}, {"ROLE"}, {"AT"}});
  for (const wire::Binding& binding : bindings.items) {
    table.add({{binding.user}, {std::string(to_text(binding.role))}, {binding.at}});
  }
  return table.text(view);
}

std::string render_issued_token(const wire::IssuedToken& token, const View& view) {
  Facts facts;
  facts.add("token", token.secret, Ink::kBold);
  facts.add("id", to_text(token.id));
  facts.add("user", token.user);
  facts.add("for", token.label);
  facts.add("expires", expiry_text(token.expires, view));
  return facts.text(view) +
         "This is the only time that it is shown. Its user gives it to `moulin login`, or sets MOULIN_TOKEN.\n";
}

std::string render_myself(const wire::Myself& myself, const Whereabouts& where, const View& view) {
  Facts facts;
  facts.add("user", myself.user, Ink::kBold);
  facts.add("account", myself.account.value_or(""));
  std::string label = myself.label.empty() ? "" : fmt::format(" ({})", myself.label);
  facts.add("server", whereabouts_text(where.server, where.server_from));
  facts.add("token", fmt::format("{}{}, from {}", to_text(myself.token), label, where.token_from));
  facts.add("expires", expiry_text(myself.expires, view));
  if (myself.workload) facts.add("of workload", to_text(*myself.workload));
  for (const wire::Binding& binding : myself.roles) {
    facts.add("role", fmt::format("{} at {}", to_text(binding.role), binding.at));
  }
  if (myself.roles.empty())
    facts.add("role", "none: an administrator gives one with `moulin role grant`", Ink::kYellow);
  if (!myself.can_isolate_users) {
    facts.add("note", "all users' processes run under one account: no isolation between users", Ink::kYellow);
  }
  return facts.text(view);
}

}  // namespace moulin::cli
