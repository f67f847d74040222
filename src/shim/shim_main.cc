#include "shim/shim_main.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "shim/files.h"
#include "shim/supervisor.h"

namespace moulin {
namespace {

int complain(const std::string& text, int status) {
  std::fprintf(stderr, "moulin shim: %s\n", text.c_str());
  return status;
}

bool is_kind(int descriptor, mode_t kind) {
  struct stat facts {};
  return ::fstat(descriptor, &facts) == 0 && (facts.st_mode & S_IFMT) == kind;
}

// The signals of a terminal, of a group or of a shutdown are for the program, not for us.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

Result<Supervisor::Parts> gather(const std::string& path) {
  Supervisor::Parts parts;
  parts.listener = Fd(kListenDescriptor);
  ::fcntl(kLockDescriptor, F_SETFD, FD_CLOEXEC);
  ::fcntl(kListenDescriptor, F_SETFD, FD_CLOEXEC);
  ::fcntl(kListenDescriptor, F_SETFL, O_NONBLOCK);
  parts.folder = TRY(open_folder(path));
  parts.exchange = TRY(open_folder_in(parts.folder, attempt_files::kExchange));
  std::string launch = TRY(read_file_in(parts.folder, attempt_files::kLaunch, kLaunchBytesMax));
  parts.launch = TRY(decode_launch(launch));
  return parts;
}

}  // namespace

int shim_main(int argc, char** argv) {
  if (argc != 3) return complain("needs one argument, the attempt folder", 2);
  if (!is_kind(kLockDescriptor, S_IFREG) || !is_kind(kListenDescriptor, S_IFSOCK)) {
    return complain("is started by the server, not by hand", 2);
  }
  block_signals();
  ::prctl(PR_SET_NAME, "moulin-shim");
  Result<Supervisor::Parts> parts = gather(argv[2]);
  if (!parts) return complain(parts.error().to_text(), 1);
  // On the heap: the program points into it and it must not move.
  auto supervisor = std::make_unique<Supervisor>(std::move(*parts));
  Status ended = supervisor->run();
  return ended ? 0 : complain(ended.error().to_text(), 1);
}

}  // namespace moulin
