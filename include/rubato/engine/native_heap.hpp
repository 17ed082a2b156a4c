// Heap of task blocks of one worker: the inline part of the native engine's task memory. The levels behind it
// (core group, global) are in native/memory/task_heap.hpp. R8; MxTasking, Sec. 5.2.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#define RUBATO_POISONS_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RUBATO_POISONS_MEMORY 1
#endif
#endif
#if defined(RUBATO_POISONS_MEMORY)
#include <sanitizer/asan_interface.h>
#endif

namespace rubato::inline v0::native {
class TaskHeap;
}

namespace rubato::inline v0::engine {

/// Under AddressSanitizer an access to poisoned memory is an error; else nothing happens.
inline void poison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(RUBATO_POISONS_MEMORY)
  __asan_poison_memory_region(begin, bytes);
#endif
}
inline void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(RUBATO_POISONS_MEMORY)
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

/// Fetches a line that another core may have used last, and takes it away from that core. For x86 without
/// -mprfchw __builtin_prefetch(block, 1) fetches a shared line, and the first write goes to that core again.
[[gnu::always_inline]] inline void prefetch_for_writing(const void* block) {
#if defined(__x86_64__)
  asm volatile("prefetchw %a0" : : "r"(block));
#else
  __builtin_prefetch(block, 1);
#endif
}

/// Hands out blocks of 64 and 128 bytes, each aligned to 64. Used by one thread at a time; a block may be
/// freed into any WorkerHeap of the same TaskHeap.
///
/// A stack of addresses for each size. The last block freed is the next one handed out, since its line is
/// still in the cache. The heap does not touch blocks: one that another core wrote last costs its user one
/// overlapped miss and no pointer chase. Invariant between calls: base <= top < limit.
class WorkerHeap {
 public:
  /// `group`: the core group whose blocks this heap takes and returns, below heap.groups().
  WorkerHeap(native::TaskHeap& heap, unsigned group);
  /// Gives everything back. Blocks still in use stay valid while the TaskHeap lives.
  ~WorkerHeap();
  WorkerHeap(const WorkerHeap&) = delete;
  WorkerHeap& operator=(const WorkerHeap&) = delete;

  /// Whether the next allocate<bytes>() finds a block here, without a call.
  template <std::size_t bytes>
  bool has_block() const {
    const Stack& stack = stacks_[size_class<bytes>()];
    return stack.top != stack.base;
  }

  /// Fetches the line of a block that will be handed out soon. If there are fewer blocks, fetches some other
  /// line.
  template <std::size_t bytes>
  void prefetch_coming() const {
    prefetch_for_writing(*(stacks_[size_class<bytes>()].top - kAhead));
  }

  /// Throws std::bad_alloc when the system has no memory left.
  template <std::size_t bytes>
  void* allocate() {
    Stack& stack = stacks_[size_class<bytes>()];
    if (stack.top == stack.base) [[unlikely]]
      refill(size_class<bytes>());
    void* const block = *--stack.top;
    unpoison(block, bytes);
    return block;
  }

  /// `block` came from allocate<bytes>() of any worker.
  template <std::size_t bytes>
  void free(void* block) {
    poison(block, bytes);
    Stack& stack = stacks_[size_class<bytes>()];
    *stack.top++ = block;
    if (stack.top == stack.limit) [[unlikely]]
      give_back(size_class<bytes>());
  }

 private:
  friend class native::TaskHeap;
  static constexpr std::ptrdiff_t kAhead = 8;
  struct Stack {
    void** top;
    void** base;
    void** limit;
  };

  template <std::size_t bytes>
  static constexpr unsigned size_class() {
    static_assert(bytes == 64 || bytes == 128, "task blocks have 64 or 128 bytes");
    return bytes == 64 ? 0 : 1;
  }

  /// Out of line: the stack of this size is empty, and is not afterwards.
  void refill(unsigned size_class);
  /// Out of line: the stack of this size is full, and is not afterwards.
  void give_back(unsigned size_class) noexcept;

  std::array<Stack, 2> stacks_;
  native::TaskHeap* heap_;
  unsigned group_;
  std::unique_ptr<void*[]> slots_;
};

}  // namespace rubato::inline v0::engine
