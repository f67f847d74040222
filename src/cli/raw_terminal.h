// The terminal of this process, lent to a command that runs elsewhere: each key goes there
// as it is, Ctrl-C too. The second place of the command line, beside terminal.h, that asks
// the operating system.
#pragma once

#include <signal.h>
#include <termios.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace moulin::cli {

struct WindowSize {
  int32_t rows = 24;
  int32_t columns = 80;
};

// Standard input and output are one.
bool is_on_terminal();
WindowSize window_size();
bool has_input();  // standard input is not closed

// Standard input is raw until destruction, however that comes.
class RawTerminal {
 public:
  RawTerminal();
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  std::optional<termios> before_{};
};

// Signals as something to be read, from the moment one is made until it is destroyed; those
// that nobody took by then are lost.
class SignalQueue {
 public:
  SignalQueue(std::initializer_list<int> numbers);
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  int descriptor() const { return descriptor_; }
  int take();  // 0: none

 private:
  int descriptor_ = -1;
  sigset_t before_{};
};

// Waiting for standard input makes it non-blocking, also for the shell that shares it:
// destruction makes it what it was.
class SharedInput {
 public:
  SharedInput();
  ~SharedInput();
  SharedInput(const SharedInput&) = delete;
  SharedInput& operator=(const SharedInput&) = delete;

  // What can be read now; empty at its end, nothing when there is nothing yet.
  std::optional<std::string> read(size_t bytes_max);

 private:
  int flags_ = -1;
};

// Waits for who reads it. Signals that come meanwhile go to `on_signal`, which says whether to
// go on. False when it said no, or nobody reads it any more.
bool write_output(int descriptor, std::string_view bytes, SignalQueue& signals,
                  const std::function<bool(int)>& on_signal);

}  // namespace moulin::cli
