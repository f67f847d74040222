// Invariants that stay on in production.
//
// A failed MOULIN_CHECK is a bug of ours, never bad input: it prints where and why to
// stderr and aborts. The server is restarted and replays its journal, so nothing that
// was accepted is lost. Expected failures are Result<T> (result.h).
#pragma once

#include <string_view>

namespace moulin {

// Prints "file:line: check failed: condition (why)" and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view why);

}  // namespace moulin

#define MOULIN_CHECK(condition, ...)                                                  \
  do {                                                                                \
    if (!(condition)) [[unlikely]]                                                    \
      ::moulin::check_failed(__FILE__, __LINE__, #condition, ::std::string_view{__VA_ARGS__}); \
  } while (false)

// For the end of a switch over an enum whose every case returned.
#define MOULIN_UNREACHABLE() ::moulin::check_failed(__FILE__, __LINE__, "reachable", "every case returns")
