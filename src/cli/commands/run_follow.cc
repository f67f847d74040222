#include "cli/commands/run_follow.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/log_printer.h"
#include "cli/status_line.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

enum class Wish { kDetach, kStop };

// The first look after a start is soon, later ones are once a second.
constexpr Duration kLookMin = milliseconds(50);
constexpr Duration kLookMax = seconds(1);

class Follower {
 public:
  Follower(Session& session, const wire::SubmittedWorkload& workload)
      : session_(session), workload_(workload), interrupts_(session.surroundings().hold_interrupts()) {}

  // The exit status.
  Result<int> follow() {
    wire::Workload shown = TRY(session_.ask(wire::ShowWorkload{.workload = workload_.id}));
    if (std::optional<int> left = TRY(wait_for_start(shown))) return *left;
    LogPrinter printer(session_.console(),
                       {.streams = LogPrinter::Style::Streams::kSplit, .names_replicas = shown.replicas.max > 1});
    LogListener listener{.on_line = [&](const wire::LogLine& line) { printer.print(line); },
                         .on_state = [&](const wire::LogState& state) { printer.print_state(state); }};
    wire::ReadWorkloadLogs wanted{.workload = workload_.id, .follow = true};
    for (;;) {  // each round takes one interrupt of a person
      std::optional<wire::LogState> end =
          TRY(follow_logs(session_, wanted, {.interrupts = interrupts_.get()}, listener));
      printer.finish();
      if (end) return exit_status_of(*end);
      if (std::optional<int> left = TRY(take_interrupt())) return *left;
      wanted.tail = 0;  // what was written so far has been shown
    }
  }

 private:
  // Tells a person why it waits, until it does so no longer. The exit status when we leave.
  Result<std::optional<int>> wait_for_start(wire::Workload shown) {
    if (!session_.console().is_interactive()) return std::optional<int>{};
    StatusLine line(session_.console());
    Duration pause = kLookMin;
    while (shown.state == WorkloadState::kWaiting && shown.attempt_count == 0) {  // as long as it waits
      if (pause == kLookMax) line.show(waiting_text(shown));
      if (interrupts_->wait(pause)) {
        line.clear();
        return take_interrupt();
      }
      pause = std::min(pause * 2, kLookMax);
      shown = TRY(session_.ask(wire::ShowWorkload{.workload = workload_.id}));
    }
    return std::optional<int>{};
  }

  std::string waiting_text(const wire::Workload& shown) {
    View view = session_.console().error_view();
    std::string text = fmt::format("moulin: waiting for {}", elapsed(shown.submitted, view.now));
    if (shown.expected_start) text += fmt::format(", starts {}", relative_text(*shown.expected_start, view));
    if (!shown.reasons.empty()) text += ": " + shown.reasons.front().text;
    return text;
  }

  // Asks the person; nothing when it was to be stopped, and its end is to be followed.
  Result<std::optional<int>> take_interrupt() {
    int signal = interrupts_->take();
    bool is_person = session_.console().is_interactive();
    if (is_person && ask_wish() == Wish::kStop) {
      TRY(session_.ask(wire::StopWorkload{.workload = workload_.id}));
      return std::optional<int>{};
    }
    session_.console().note(
        fmt::format("moulin: {0} goes on; follow it with `moulin logs -f {0}`", to_text(workload_.id)));
    return std::optional<int>{is_person ? 0 : 128 + signal};
  }

  // Another interrupt detaches, too: who presses Ctrl-C twice wants to be gone.
  Wish ask_wish() {
    constexpr std::string_view kQuestion = "\nDetach (it goes on; Ctrl-C again) or stop it? [d/s] ";
    std::string answer = session_.surroundings().ask_person(kQuestion, *interrupts_);
    return answer == "s" || answer == "stop" ? Wish::kStop : Wish::kDetach;
  }

  Session& session_;
  const wire::SubmittedWorkload& workload_;
  std::unique_ptr<Interrupts> interrupts_;
};

}  // namespace

Result<int> run_follow(Session& session, const wire::SubmittedWorkload& workload) {
  return Follower(session, workload).follow();
}

}  // namespace moulin::cli
