// Where everything is constructed. Verbs that need no server start here; all others are
// the command line's.
#include <string_view>
#include <vector>

#include "cli/call.h"
#include "cli/cli.h"
#include "main/journal_verbs.h"
#include "main/up.h"
#include "shim/shim_main.h"

namespace moulin {

namespace {

// `up` and `journal` stand in the table of verbs, too: what is wrong with a call, and its
// help, are said where they are for all verbs.
int own_main(int argc, char** argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  Result<Call> call = parse_call(verbs(), arguments);
  if (!call || call->wants_help) return cli_main(argc, argv);
  return call->verb->name == "up" ? up_main(*call) : journal_main(*call);
}

}  // namespace

}  // namespace moulin

int main(int argc, char** argv) {
  std::string_view verb = argc > 1 ? argv[1] : "";
  // First, because a shim is started for each replica and must be quick.
  if (verb == "shim") return moulin::shim_main(argc, argv);
  if (verb == "up" || verb == "journal") return moulin::own_main(argc, argv);
  return moulin::cli_main(argc, argv);
}
