#include "cli/commands/run_follow.h"

#include <fmt/format.h>

#include "cli/log_printer.h"

namespace moulin {

namespace {

enum class Wish { kDetach, kStop };

Wish ask_wish(Session& session, Interrupts& interrupts) {
  constexpr std::string_view kQuestion = "\nDetach (it goes on) or stop it? [d/s] ";
  std::string answer = session.surroundings().ask_person(kQuestion, interrupts);
  return answer == "s" || answer == "stop" ? Wish::kStop : Wish::kDetach;
}

void say_detached(Session& session, const wire::SubmittedWorkload& workload) {
  session.console().note(fmt::format("moulin: {0} goes on; follow it with `moulin logs -f {0}`", to_text(workload.id)));
}

}  // namespace

Result<int> run_follow(Session& session, const wire::SubmittedWorkload& workload) {
  std::unique_ptr<Interrupts> interrupts = session.surroundings().hold_interrupts();
  wire::Workload shown = TRY(session.ask(wire::ShowWorkload{.workload = workload.id}));
  LogPrinter printer(session.console(),
                     {.streams = LogPrinter::Style::Streams::kSplit, .names_replicas = shown.replicas.max > 1});
  LogListener listener{.on_line = [&](const wire::LogLine& line) { printer.print(line); },
                       .on_state = [&](const wire::LogState& state) { printer.print_state(state); }};
  wire::ReadWorkloadLogs wanted{.workload = workload.id, .follow = true};
  for (;;) {  // each round takes one interrupt of a person
    std::optional<wire::LogState> end = TRY(follow_logs(session, wanted, {.interrupts = interrupts.get()}, listener));
    printer.finish();
    if (end) return exit_status_of(*end);
    int signal = interrupts->take();
    if (!session.console().is_interactive() || ask_wish(session, *interrupts) == Wish::kDetach) {
      say_detached(session, workload);
      return session.console().is_interactive() ? 0 : 128 + signal;
    }
    TRY(session.ask(wire::StopWorkload{.workload = workload.id}));
    wanted.tail = 0;  // what was written so far has been shown
  }
}

}  // namespace moulin
