// Entry point of `moulin shim`, which the engine starts for each replica.
#pragma once

namespace moulin {

// argv: "moulin", "shim", the absolute path of the attempt folder. Descriptor 3 is the
// locked lock file, descriptor 4 the listening control socket (launch.h).
//
// Runs until the replica has ended; see Supervisor. Returns the exit status for main():
// 0, 2 for a wrong call, 1 when it could not even say in the status file what went
// wrong. Errors also go to standard error, which the engine has pointed at shim.log.
int shim_main(int argc, char** argv);

}  // namespace moulin
