// A value that is shared until somebody changes it.
//
// Copying a Cow copies a pointer. mutate() first makes a copy of the value when anybody
// else holds it. One thread may own and mutate a Cow while other threads read their own
// copies of it: the count is atomic and the value behind a shared pointer never changes.
#pragma once

#include <atomic>
#include <utility>

namespace moulin {

template <class T>
class Cow {
 public:
  Cow() : box_(new Box) {}
  explicit Cow(T value) : box_(new Box{std::move(value)}) {}
  Cow(const Cow& other) : box_(other.box_) { box_->holders.fetch_add(1, std::memory_order_relaxed); }
  Cow(Cow&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  Cow& operator=(Cow other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~Cow() { release(); }

  const T& operator*() const { return box_->value; }
  const T* operator->() const { return &box_->value; }

  // The value, held by nobody else. References from an earlier call stay good only
  // until this Cow is copied.
  T& mutate() {
    // Acquire: reads by a former holder happen before our writes.
    if (box_->holders.load(std::memory_order_acquire) != 1) {
      Box* own = new Box{box_->value};
      release();
      box_ = own;
    }
    return box_->value;
  }

  bool operator==(const Cow& other) const { return box_ == other.box_ || **this == *other; }

 private:
  struct Box {
    T value{};
    std::atomic<int> holders{1};
  };
  void release() {
    if (box_ && box_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete box_;
  }
  Box* box_;
};

}  // namespace moulin
