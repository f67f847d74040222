// What the process was started with, as data, so that nothing below main asks for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"

namespace moulin::cli {

// Ctrl-C and a polite end, held back from the moment one is made until it is destroyed.
class Interrupts {
 public:
  virtual ~Interrupts() = default;
  // Readable when one came.
  virtual int descriptor() const = 0;
  // The number of the signal that came, which is taken; 0: none.
  virtual int take() = 0;
  // Waits for one, at most so long. True when one came.
  virtual bool wait(Duration at_most) = 0;
};

struct Surroundings {
  std::function<std::string(std::string_view)> variable;  // of the environment; empty when unset
  std::string folder;                                     // the current one, absolute
  bool is_root = false;
  // A small file as a whole; kNotFound, kForbidden, kTooLarge or kUnavailable. "-": standard input.
  std::function<Result<std::string>(const std::string& path, size_t bytes_max)> read_file;
  // Writes a file that only its owner can read, whole or not at all; makes its folders.
  std::function<Status(const std::string& path, const std::string& text)> write_private_file{};
  // kNotFound when there is none.
  std::function<Status(const std::string& path)> remove_file{};
  // Random bytes as hexadecimal digits.
  std::function<std::string(size_t bytes)> random_hex;
  std::function<std::unique_ptr<Interrupts>()> hold_interrupts;
  // A line that a person types, without its end; empty at the end of input, and when an
  // interrupt comes first.
  std::function<std::string(std::string_view question, Interrupts& interrupts)> ask_person;
  // The same for what nobody may read over a shoulder: it does not appear on the terminal.
  std::function<std::string(std::string_view question, Interrupts& interrupts)> ask_secret{};
};

}  // namespace moulin::cli
