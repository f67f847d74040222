// The server, its events and its verdicts as text: `doctor`, `events`, `--dry-run`.
#pragma once

#include <string>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin {

// What `doctor` says of a server that answers.
std::string render_server(const wire::Server& server, const View& view);

// One line: when, which workload, what.
std::string render_event(const wire::Event& event, const View& view);
std::string render_events(const wire::EventPage& page, const View& view);

// What each workload of a submission would come to.
std::string render_dry_run(const wire::DryRun& dry_run, const View& view);

}  // namespace moulin
