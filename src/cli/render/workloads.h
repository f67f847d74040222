// Workloads as text: `ps`, `show`, and what is said after a submission.
#pragma once

#include <string>
#include <vector>

#include "api/wire_types.h"
#include "cli/view.h"

namespace moulin::cli {

Ink ink_of(WorkloadState state);

// "exit code 1", "signal 9", "crossed a limit: memory": how a replica ended.
std::string exit_text(const wire::Exit& exit);

// "n1, n2", or "n1 and 7 more".
std::string nodes_text(const std::vector<std::string>& nodes);

// One line for each workload; for none a sentence.
std::string render_workloads(const wire::WorkloadPage& page, const View& view);

// Everything about one workload.
std::string render_workload(const wire::Workload& workload, const View& view);

// "w-0c9... bert-finetune"; of many, the first and the last.
std::string render_submitted(const wire::Submitted& submitted, const View& view);

// After stop, pause and resume: what state it is in now.
std::string render_summary(const wire::WorkloadSummary& workload, const View& view);
// The same after `stop`, which changes nothing about what has ended by itself.
std::string render_stopped(const wire::WorkloadSummary& workload, const View& view);

}  // namespace moulin::cli
