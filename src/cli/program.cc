#include "cli/program.h"

#include <algorithm>
#include <string>

#include "cli/help.h"
#include "cli/session.h"

namespace moulin {

namespace {

Result<int> run(Call call, Console& console, const Surroundings& surroundings) {
  // A verb that only main knows was asked for its help here.
  if (call.verb == nullptr || (call.wants_help && call.verb->run == nullptr)) {
    console.print(overall_help(verbs(), console.view()));
    return 0;
  }
  if (call.wants_help) {
    console.print(verb_help(*call.verb));
    return 0;
  }
  if (call.verb->run == nullptr) {
    return Error{.code = Code::kInvalid,
                 .message = "options stand before the verb",
                 .to_do = "write: moulin " + std::string(call.verb->name) + " [options]"};
  }
  auto verb = call.verb->run;
  Session session(std::move(call), console, surroundings);
  return verb(session);
}

}  // namespace

int run_program(std::span<const std::string_view> arguments, ConsoleParts parts, const Surroundings& surroundings) {
  Result<Call> call = parse_call(verbs(), arguments);
  // A call that cannot be parsed says so in the form that it asked for.
  bool wants_json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  Form form = wants_json ? Form::kJson : Form::kText;
  Console console(std::move(parts), call ? call->form : form);
  Result<int> status = call ? run(std::move(*call), console, surroundings) : Result<int>(call.error());
  if (status) return *status;
  console.print_error(status.error());
  return exit_status(status.error().code);
}

}  // namespace moulin
