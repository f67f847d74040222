#include "sim/server/sim_command.h"

int main(int count, char** arguments) {
  return moulin::sim::run_command(std::vector<std::string>(arguments + 1, arguments + count));
}
