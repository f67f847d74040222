#include "cli/render/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/render/why.h"
#include "cli/units.h"

namespace moulin::cli {

namespace {

std::string verdict_line(const wire::DryRunVerdict& verdict, const View& view) {
  std::string who =
      verdict.count == 1 ? verdict.name : fmt::format("{} ({})", verdict.name, counted(verdict.count, "workload"));
  who = printable(who);
  if (!verdict.accepted) return who + " would be " + paint("refused", Ink::kRed, view);
  if (verdict.starts_now) return who + " would " + paint("start now", Ink::kGreen, view);
  return who + " would " + paint("wait", Ink::kYellow, view);
}

std::string problem_lines(const wire::Problem& problem, const View& view) {
  std::string text;
  std::string detail = printable(problem.detail);
  text += wrapped((problem.field ? *problem.field + ": " : "") + detail, "  ", view);
  if (problem.given) text += wrapped("given: " + printable(*problem.given), "  ", view);
  if (problem.allowed) text += wrapped("allowed: " + printable(*problem.allowed), "  ", view);
  if (problem.to_do) text += wrapped("to do: " + printable(*problem.to_do), "  ", view);
  return text;
}

}  // namespace

std::string render_event(const wire::Event& event, const View& view) {
  std::string line = paint(clock_text(event.time, view), Ink::kDim, view);
  if (event.workload) line += "  " + paint(to_text(*event.workload), Ink::kCyan, view);
  line += "  " + printable(event.text);
  if (event.by && event.text.find(*event.by) == std::string::npos)
    line += paint(" (by " + printable(*event.by) + ")", Ink::kDim, view);
  return line + "\n";
}

// What happened several times in a row is one line, with the last time.
std::string render_events(const wire::EventPage& page, const View& view) {
  std::string text;
  for (size_t i = 0; i < page.items.size();) {
    const wire::Event& first = page.items[i];
    auto differs = [&](const wire::Event& event) {
      return event.text != first.text || event.workload != first.workload;
    };
    auto begin = page.items.begin() + static_cast<std::ptrdiff_t>(i);
    auto end = std::find_if(begin, page.items.end(), differs);
    auto times = static_cast<size_t>(end - begin);
    std::string line = render_event(first, view);
    if (times > 1) {
      line.pop_back();
      line += fmt::format(" ({} times, until {})\n", times, clock_text(std::prev(end)->time, view));
    }
    text += line;
    i += times;
  }
  return text.empty() ? "Nothing happened yet.\n" : text;
}

std::string render_dry_run(const wire::DryRun& dry_run, const View& view) {
  std::string text;
  for (const wire::DryRunVerdict& verdict : dry_run.workloads) {
    text += verdict_line(verdict, view) + "\n";
    if (verdict.problem) text += problem_lines(*verdict.problem, view);
    if (verdict.explanation && verdict.accepted && !verdict.starts_now)
      text += render_explanation(*verdict.explanation, view);
  }
  return text;
}

}  // namespace moulin::cli
