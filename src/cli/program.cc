#include "cli/program.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "cli/commands/suggest.h"
#include "cli/help.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

std::string help_text(const Call& call, const View& view) {
  if (call.verb != nullptr) return verb_help(*call.verb, view);
  if (!call.topic.empty()) return topic_help(verbs(), call.topic, view);
  return overall_help(verbs(), view);
}

Result<int> run_local(const Call& call, Console& console, std::span<const LocalVerb> local) {
  auto found = std::ranges::find(local, call.verb->name, &LocalVerb::name);
  MOULIN_CHECK(found != local.end(), "somebody runs " + std::string(call.verb->name));
  return found->run(call, console);
}

Result<int> run(Call call, Console& console, const Surroundings& surroundings, std::span<const LocalVerb> local) {
  if (call.verb == nullptr || call.wants_help) {
    console.print(help_text(call, console.view()));
    return 0;
  }
  auto verb = call.verb->run;
  if (verb == nullptr) return run_local(call, console, local);
  Session session(std::move(call), console, surroundings);
  return verb(session);
}

}  // namespace

int run_program(std::span<const std::string_view> arguments, ConsoleParts parts, const Surroundings& surroundings,
                std::span<const LocalVerb> local) {
  if (!arguments.empty() && arguments.front() == kCompleteVerb) {
    Console console(std::move(parts), Form::kText);
    Session session(Call{}, console, surroundings);
    return suggest(session, arguments.subspan(1));
  }
  Result<Call> call = parse_call(verbs(), arguments);
  // A call that cannot be parsed says so in the form that it asked for.
  bool wants_json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  Form form = wants_json ? Form::kJson : Form::kText;
  Console console(std::move(parts), call ? call->form : form);
  Result<int> status = call ? run(std::move(*call), console, surroundings, local) : Result<int>(call.error());
  if (status) return *status;
  console.print_error(status.error());
  return exit_status(status.error().code);
}

}  // namespace moulin::cli
