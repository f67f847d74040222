// Events of the server and its verdicts as text: `events`, `--dry-run`.
#pragma once

#include <string>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin::cli {

// One line: when, which workload, what.
std::string render_event(const wire::Event& event, const View& view);
std::string render_events(const wire::EventPage& page, const View& view);

// What each workload of a submission would come to.
std::string render_dry_run(const wire::DryRun& dry_run, const View& view);

}  // namespace moulin::cli
