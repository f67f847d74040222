// A line on the terminal that says what is being waited for, and is written over.
#pragma once

#include <string>
#include <string_view>

#include "cli/console.h"

namespace moulin::cli {

// Silent unless standard error is a terminal and answers are for people. Gone without a
// trace when it is destroyed.
class StatusLine {
 public:
  explicit StatusLine(Console& console) : console_(console) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // In place of the one before, cut at the edge of the terminal.
  void show(std::string_view text);
  void clear();

 private:
  Console& console_;
  std::string shown_;
};

}  // namespace moulin::cli
