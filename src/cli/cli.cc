#include "cli/cli.h"

#include <string_view>
#include <vector>

#include "cli/terminal.h"

namespace moulin::cli {

int cli_main(int argc, char** argv, std::span<const LocalVerb> local) {
  std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return run_program(arguments, process_console(), process_surroundings(), local);
}

}  // namespace moulin::cli
