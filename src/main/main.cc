// Where everything is constructed.
#include <string_view>

#include "cli/cli.h"
#include "main/local_verbs.h"
#include "shim/shim_main.h"

int main(int argc, char** argv) {
  // First, because a shim is started for each replica and must be quick.
  if (argc > 1 && std::string_view(argv[1]) == "shim") return moulin::shim_main(argc, argv);
  return moulin::cli::cli_main(argc, argv, moulin::local_verb_runners());
}
