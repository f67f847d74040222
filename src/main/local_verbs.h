// The verbs that need no server: what runs each.
#pragma once

#include <span>

#include "cli/program.h"

namespace moulin {

using cli::Call;
using cli::Console;
using cli::LocalVerb;

std::span<const LocalVerb> local_verb_runners();

// Each gives the exit status; their options and help stand in src/cli/commands/local.cc.
Result<int> run_up(const Call& call, Console& console);
Result<int> run_backup(const Call& call, Console& console);
Result<int> run_restore(const Call& call, Console& console);
Result<int> run_journal_verify(const Call& call, Console& console);  // 0 whole, 1 damaged
Result<int> run_journal_stats(const Call& call, Console& console);

// The absolute path of the data folder that the call names or means.
std::string data_folder_of(const Call& call);

}  // namespace moulin
