// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace moulin {

// Owns at most one descriptor; -1 is none. Move-only. Not thread-safe.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Gives the descriptor up without closing it.
  int release() { return std::exchange(number_, -1); }
  void reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

}  // namespace moulin
