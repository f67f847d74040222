#include "main/local_verbs.h"

#include <filesystem>

#include "cli/access.h"
#include "cli/terminal.h"

namespace moulin {

std::span<const LocalVerb> local_verb_runners() {
  static constexpr LocalVerb kRunners[] = {{"up", run_up},
                                           {"backup", run_backup},
                                           {"restore", run_restore},
                                           {"journal verify", run_journal_verify},
                                           {"journal stats", run_journal_stats}};
  return kRunners;
}

std::string data_folder_of(const Call& call) {
  const std::string* named = call.value("data");
  std::filesystem::path path = named != nullptr ? *named : cli::default_data_folder(cli::process_surroundings());
  std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
  if (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  return absolute;
}

}  // namespace moulin
