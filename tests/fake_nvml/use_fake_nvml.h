// A fake NVIDIA library for one test: its own copy in a temporary folder, so that tests
// share no state and functions can really be missing.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace moulin {

class FakeNvml {
 public:
  // Plays `script` (script.h). The functions of `missing` are not in the library at all.
  explicit FakeNvml(std::string_view script, std::initializer_list<std::string_view> missing = {});
  ~FakeNvml();  // removes the folder; the library stays loaded
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  std::string library() const { return folder_ + "/libnvidia-ml.so.1"; }
  const std::string& folder() const { return folder_; }  // for other files of the test

  // From the next call on. Atomic.
  void play(std::string_view script) const;

  // Makes what "hang FUNCTION PREFIX [DEVICE]" needs, and returns the line for the script. Then
  // wait_inside() blocks until a thread is inside the function, and release() until it is
  // free to go on. One thread may hang at a time.
  std::string hang(std::string_view function, std::optional<int> device = std::nullopt) const;
  void wait_inside() const;
  void release() const;

 private:
  std::string folder_;
};

}  // namespace moulin
