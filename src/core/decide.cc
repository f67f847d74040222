#include "core/decide.h"

#include "core/decide_parts.h"

namespace moulin {

namespace {

Status require_system(const Actor& actor, const CommandBody& body) {
  bool from_inside =
      std::holds_alternative<command::TakeReport>(body) || std::holds_alternative<command::Start>(body) ||
      std::holds_alternative<command::Evict>(body) || std::holds_alternative<command::EndPass>(body) ||
      std::holds_alternative<command::Tick>(body) || std::holds_alternative<command::BeginEpoch>(body) ||
      std::holds_alternative<command::MoveWallClock>(body) || std::holds_alternative<command::RegisterNode>(body) ||
      std::holds_alternative<command::ReportPresence>(body) || std::holds_alternative<command::ReportGpu>(body) ||
      std::holds_alternative<command::RemoveNode>(body);
  if (!from_inside || actor.is_system()) return {};
  return Error{.code = Code::kForbidden, .message = "only Moulin itself gives this command"};
}

}  // namespace

Result<Events> decide(const Grounds& view, const Command& command) {
  MOULIN_CHECK(command.at >= view.state.now, "time does not go back");
  TRY(require_system(command.actor, command.body));
  Case c(view, command);
  TRY(std::visit([&](const auto& body) { return judge(c, body); }, command.body));
  return c.take();
}

}  // namespace moulin
