// A program for tests: a shim without the rest of moulin, and ill-behaved programs.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "shim/shim_main.h"

namespace {

// Each generation leaves its session, has a child and is gone. Counts generations in the
// file, so that a test can see whether the chain still runs.
int run_away(const char* path) {
  int file = ::open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(uint64_t)) != 0) return 1;
  void* page = ::mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return 1;
  auto* generations = static_cast<volatile uint64_t*>(page);
  while (true) {
    bool is_first = *generations == 0;  // before the fork: the child may count at once
    pid_t child = ::fork();
    if (child != 0) {
      // The first one stays until it is ended, or goes when it is told to.
      if (is_first && ::getenv("RUNAWAY_STAYS") != nullptr) ::pause();
      ::_exit(child < 0 ? 1 : 0);
    }
    ::setsid();
    *generations = *generations + 1;
  }
}

// A daemon as old books make it, deaf to SIGTERM.
int daemonise(const char* path) {
  if (::fork() != 0) return 0;
  ::setsid();
  if (::fork() != 0) return 0;
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::clearenv();
  int file = ::open(path, O_WRONLY | O_CREAT, 0600);
  char text[32];
  int size = 0;
  for (pid_t pid = ::getpid(); pid > 0; pid /= 10) text[size++] = static_cast<char>('0' + pid % 10);
  for (int i = size; i > 0; --i) {
    if (::write(file, &text[i - 1], 1) != 1) return 1;
  }
  ::close(file);
  while (true) ::pause();
}

// Uses this many MiB of memory and waits.
int eat(const char* mebibytes) {
  size_t bytes = std::strtoul(mebibytes, nullptr, 10) << 20;
  void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return 1;
  std::memset(block, 1, bytes);
  while (true) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "shim") return moulin::shim_main(argc, argv);
  if (what == "run-away" && argc == 3) return run_away(argv[2]);
  if (what == "daemon" && argc == 3) return daemonise(argv[2]);
  if (what == "eat" && argc == 3) return eat(argv[2]);
  return 2;
}
