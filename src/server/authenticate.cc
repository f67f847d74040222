#include "server/authenticate.h"

#include "server/secrets.h"

namespace moulin {

namespace {

constexpr std::string_view kBearer = "Bearer ";

Error refused(std::string message) {
  return {.code = Code::kUnauthenticated,
          .message = std::move(message),
          .to_do = "set MOULIN_TOKEN or MOULIN_TOKEN_FILE; `moulin up` names the administrator's token file"};
}

}  // namespace

Result<Actor> authenticate(const State& state, const Request& request, Instant now) {
  const std::string* header = find_header(request.headers, "authorization");
  if (header == nullptr) return refused("this request carries no token");
  if (!header->starts_with(kBearer)) return refused("the Authorization header is not a bearer token");
  TokenText given = TRY(parse_token(std::string_view(*header).substr(kBearer.size())));
  const Cow<Token>* token = state.tokens.find(given.id);
  if (token == nullptr || !equal_hashes((*token)->hash, given.hash)) return refused("no valid token");
  if ((*token)->expires != Instant{} && (*token)->expires <= now) {
    return Error{.code = Code::kUnauthenticated,
                 .message = "the token has expired",
                 .to_do = "make a new one with `moulin token create`"};
  }
  return Actor{.user = (*token)->user, .workload = (*token)->workload};
}

}  // namespace moulin
