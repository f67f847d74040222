// The last steps before a user's program: become its account, enter its folder, exec.
//
// Everything is prepared before the fork; between fork and exec only system calls are
// made. What goes wrong is told through a close-on-exec pipe: end of file means that the
// program runs, else there is one LaunchFailure in it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "shim/launch.h"

namespace moulin {

struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string home;
};
// kNotFound with a sentence when there is no such account on this machine; kUnavailable
// when that could not be found out. Asks the system's user data base, which may be on the
// network, and so may take long.
Result<Account> find_account(const std::string& name);
// What a look-up that failed means: `number` is what getpwnam_r() returned, 0 when it only
// found nothing.
Error account_error(const std::string& name, int number);

// Gives up all rights but those of the account, for good; false with errno. Only system
// calls, so that it can stand between fork and exec.
bool become_account(const Account& account);

// Which step failed.
enum class LaunchStep : int32_t { kSession, kOutput, kAccount, kFolder, kCommand, kContainment };

struct LaunchFailure {
  LaunchStep step = LaunchStep::kCommand;
  int32_t number = 0;  // errno
};

// The sentence for the user: names the command and PATH, or the folder, and what to do.
std::string failure_text(const LaunchFailure& failure, const ShimLaunch& launch);

// A program ready to be run. Does not move once made: it points into itself.
class Program {
 public:
  // `account` may be empty. `launch` must outlive the Program.
  Program(const ShimLaunch& launch, std::optional<Account> account);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  struct Descriptors {
    int in = -1;  // becomes standard input
    int out = -1;
    int err = -1;
    int failure = -1;  // writing end of the close-on-exec pipe
    bool terminal = false;  // `in` is a terminal and becomes that of the session
  };
  // Call in a new process. Becomes leader of a session of its own, closes all
  // descriptors above 2, resets signals and umask (022), and execs.
  [[noreturn]] void run(const Descriptors& descriptors) const;

  const std::optional<Account>& account() const { return account_; }
  // What argv[0] may mean, in order of PATH.
  const std::vector<std::string>& candidates() const { return candidates_; }

 private:
  std::optional<LaunchFailure> become(const Descriptors& descriptors) const;
  LaunchFailure exec() const;

  std::string working_folder_;
  std::optional<Account> account_;
  std::vector<std::string> candidates_;
  std::vector<char*> argv_;
  std::vector<char*> environment_;
};

// The value of a variable in a list of "NAME=value"; empty when it is not there.
std::string environment_value(const std::vector<std::string>& environment, std::string_view name);

}  // namespace moulin
