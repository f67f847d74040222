#include "server/handlers/world.h"

#include <algorithm>

namespace moulin {

namespace {
constexpr std::string_view kCursorPrefix = "after:";
}  // namespace

void give_command(Call call, CommandBody body, Respond respond) {
  Actor actor = call.actor;
  Reactor& reactor = call.world.reactor;
  auto shared = std::make_shared<std::pair<Call, Respond>>(std::move(call), std::move(respond));
  reactor.submit(std::move(actor), std::move(body), [shared](const Result<Events>& result) {
    Call& answered = shared->first;
    if (!result) return answered.responder.answer(problem_response(result.error()));
    answered.view = answered.world.reactor.view();
    answered.responder.answer(shared->second(answered, *result));
  });
}

void in_background(Call call, std::move_only_function<void(Call)> read) {
  Readers& readers = call.world.readers;
  auto shared =
      std::make_shared<std::pair<Call, std::move_only_function<void(Call)>>>(std::move(call), std::move(read));
  Status queued = readers.run([shared] { shared->second(std::move(shared->first)); });
  if (!queued) shared->first.responder.answer(problem_response(queued.error()));
}

bool is_at_or_below(const State& state, const TreeName& project, const std::string& at) {
  return std::ranges::any_of(path_to_root(state, project), [&](const TreeNode* node) { return node->name.text == at; });
}

std::string make_cursor(std::string_view key) { return std::string(kCursorPrefix) + std::string(key); }

Result<std::string> read_cursor(const std::optional<std::string>& cursor) {
  if (!cursor) return std::string{};
  if (cursor->starts_with(kCursorPrefix) && cursor->size() > kCursorPrefix.size()) {
    return cursor->substr(kCursorPrefix.size());
  }
  return Error{.code = Code::kInvalid,
               .message = "not a cursor",
               .field = "cursor",
               .given = *cursor,
               .allowed = "`next` of the page before"};
}

}  // namespace moulin
