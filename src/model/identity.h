// Who may do what: users, their tokens, and their roles at nodes of the quota tree.
#pragma once

#include <string>

#include "base/enum_text.h"
#include "base/instant.h"
#include "model/names.h"

namespace moulin {

// A role holds at a node of the tree and everything below it.
enum class Role {
  kViewer,  // sees
  kMember,  // also submits, and stops what is their own
  kAdmin,   // everything below this node; at the root also nodes, users and tokens
};
template <>
inline constexpr auto kWords<Role> = std::to_array<std::string_view>({"viewer", "member", "admin"});

struct User {
  UserName name{};
  std::string account{};  // Unix account that runs this user's replicas; empty: the server's
  Instant created{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "name", self.name);
    visit(2, "account", self.account);
    visit(3, "created", self.created);
  }
  bool operator==(const User&) const = default;
};

// Only a hash of the secret is kept. The secret itself is shown once, when it is issued.
struct Token {
  TokenId id{};
  UserName user{};
  std::string hash{};      // BLAKE2b-256 of the secret, raw bytes
  std::string label{};     // for people
  Instant issued{};
  Instant expires{};     // 0: never
  WorkloadId workload{}; // not 0: may only read and report this workload
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "id", self.id);
    visit(2, "user", self.user);
    visit(3, "hash", self.hash);
    visit(4, "label", self.label);
    visit(5, "issued", self.issued);
    visit(6, "expires", self.expires);
    visit(7, "workload", self.workload);
  }
  bool operator==(const Token&) const = default;
};

struct Binding {
  UserName user{};
  TreeName at{};
  Role role = Role::kViewer;
  auto operator<=>(const Binding&) const = default;
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "user", self.user);
    visit(2, "at", self.at);
    visit(3, "role", self.role);
  }
};

}  // namespace moulin
