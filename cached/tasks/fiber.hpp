// A function with a stack of its own, which may leave in its midst and be resumed by another thread: a
// session that waits for its turn in a shard keeps no thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace rubato::cached {

class Fiber {
 public:
  /// Errors: std::bad_alloc.
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  using Body = void (*)(void* argument);
  /// Sets the body with which the next `resume` begins. The body throws nothing.
  void prepare(Body body, void* argument);
  /// Runs the body in this thread until it leaves or ends; true if it has ended.
  bool resume();
  /// In the body: returns to the caller of `resume`. Code after the call runs in the thread of the next
  /// `resume`.
  void leave();
  void* argument() const { return argument_; }
  /// The one that runs in this thread, if any.
  static Fiber* current();

 private:
  struct Switch;  // needs of a jump between stacks, and its announcement to sanitizers

  static constexpr std::size_t kStack = 128 << 10;  // of which only what is touched takes memory
  void* mapping_;
  void* context_ = nullptr;  // where the body goes on
  void* caller_ = nullptr;   // where `resume` goes on
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  // For sanitizers only.
  void* own_fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_size_ = 0;
  void* tsan_own_ = nullptr;
  void* tsan_caller_ = nullptr;
};

}  // namespace rubato::cached
