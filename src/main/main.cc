// Where everything is constructed. Verbs that need no server start here; all others are
// the command line's.
#include <string_view>

#include "cli/cli.h"
#include "main/journal_verbs.h"
#include "main/up.h"
#include "shim/shim_main.h"

int main(int argc, char** argv) {
  std::string_view verb = argc > 1 ? argv[1] : "";
  // First, because a shim is started for each replica and must be quick.
  if (verb == "shim") return moulin::shim_main(argc, argv);
  if (verb == "up") return moulin::up_main(argc - 1, argv + 1);
  if (verb == "journal") return moulin::journal_main(argc - 1, argv + 1);
  return moulin::cli_main(argc, argv);
}
