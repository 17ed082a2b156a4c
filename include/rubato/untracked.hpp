// Untracked memory (P1, P9): on the chip it is neither versioned nor checked, so a speculative task may
// not touch it but in a capsule. On host engines it is plain memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "rubato/engine/select.hpp"

#if defined(RUBATO_ENGINE_CHIP)
#include <sys/mman.h>

#include "rubato/engine/chip_capsule.hpp"

/// Section of a static variable of type untracked<T>: stands before its definition.
#define RUBATO_UNTRACKED [[gnu::section("rubato_untracked")]]
#else
#define RUBATO_UNTRACKED
#endif

namespace rubato::inline v0 {

/// Page size, in bytes: untracked memory consists of whole pages.
inline constexpr std::size_t kUntrackedPage = 4096;

/// A static variable in untracked memory, on pages of its own:
///   RUBATO_UNTRACKED static untracked<Counters> counters;
/// Constant-initialized; elsewhere than in static storage it is tracked if its surroundings are.
template <class T>
struct alignas(kUntrackedPage) untracked {
  T value{};  ///< the object
  constexpr untracked() = default;
  /// Constructs it from `args`.
  template <class... Args>
  constexpr explicit untracked(std::in_place_t, Args&&... args) : value(std::forward<Args>(args)...) {}
  /// The object.
  T& operator*() { return value; }
  /// The object.
  T* operator->() { return &value; }
};

namespace engine {

inline constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kUntrackedPage - 1) / kUntrackedPage * kUntrackedPage;
}

#if defined(RUBATO_ENGINE_CHIP)
/// Reserved range, in bytes, of all memory that map_untracked() gives: one range, so that an address is soon
/// known to be untracked.
inline constexpr std::size_t kUntrackedArena = std::size_t{8} << 30;
struct UntrackedArena {
  std::uintptr_t begin = 0;
  std::uintptr_t next = 0;
};
static_assert(sizeof(UntrackedArena) <= kUntrackedPage);
/// The arena of the program. Defined by assembly, since the compiler does not put inline and other variables
/// into one section.
inline UntrackedArena& untracked_arena() {
  return *reinterpret_cast<UntrackedArena*>(RUBATO_ADDRESS_OF("rubato_untracked_arena"));
}

/// Takes so many bytes of the arena, without rights yet; 0: there are none. `map` reserves untracked address
/// space without rights, of so many bytes: its address, or something negative.
template <class Map>
inline std::uintptr_t reserve_untracked(std::size_t bytes, const Map& map) {
  UntrackedArena& arena = untracked_arena();
  if (arena.begin == 0) {
    const std::int64_t begin = map(kUntrackedArena);
    if (begin < 0) return 0;
    arena.begin = arena.next = static_cast<std::uintptr_t>(begin);
  }
  if (bytes > arena.begin + kUntrackedArena - arena.next) return 0;
  return std::exchange(arena.next, arena.next + bytes);
}
#endif

}  // namespace engine

/// Whole pages that read as zero, or null. Outside tasks.
inline void* map_untracked(std::size_t bytes) {
  const std::size_t wanted = engine::whole_pages(bytes == 0 ? 1 : bytes);
#if defined(RUBATO_ENGINE_CHIP)
  const std::uintptr_t at = engine::reserve_untracked(wanted, [](std::size_t all) {
    constexpr int kMapUntracked = 0x02000000;
    void* const memory =
        mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | kMapUntracked, -1, 0);
    return reinterpret_cast<std::int64_t>(memory);  // MAP_FAILED is -1
  });
  if (at == 0 || mprotect(reinterpret_cast<void*>(at), wanted, PROT_READ | PROT_WRITE) != 0) return nullptr;
  return reinterpret_cast<void*>(at);
#else
  void* const memory = ::operator new(wanted, std::align_val_t{kUntrackedPage}, std::nothrow);
  if (memory != nullptr) __builtin_memset(memory, 0, wanted);
  return memory;
#endif
}

/// Gives back memory that map_untracked(bytes) returned. On the chip its addresses are not given out again.
inline void unmap_untracked(void* memory, std::size_t bytes) {
#if defined(RUBATO_ENGINE_CHIP)
  const std::size_t size = engine::whole_pages(bytes == 0 ? 1 : bytes);
  madvise(memory, size, MADV_DONTNEED);
  mprotect(memory, size, PROT_NONE);
#else
  static_cast<void>(bytes);
  ::operator delete(memory, std::align_val_t{kUntrackedPage});
#endif
}

/// Allocator for containers whose elements are to be untracked: whole pages each time.
template <class T>
struct untracked_allocator {
  /// T.
  using value_type = T;
  untracked_allocator() = default;
  /// Converts between allocators, which are all alike.
  template <class U>
  untracked_allocator(const untracked_allocator<U>&) {}
  /// Room for n elements. Throws std::bad_alloc.
  T* allocate(std::size_t n) {
    void* const memory = n > SIZE_MAX / sizeof(T) ? nullptr : map_untracked(n * sizeof(T));
    if (memory == nullptr) {
#if defined(__cpp_exceptions)
      throw std::bad_alloc();
#else
      __builtin_trap();
#endif
    }
    return static_cast<T*>(memory);
  }
  /// Gives it back.
  void deallocate(T* p, std::size_t n) { unmap_untracked(p, n * sizeof(T)); }
  /// All allocators are equal: one gives back what another has allocated.
  friend bool operator==(const untracked_allocator&, const untracked_allocator&) { return true; }
};

}  // namespace rubato::inline v0
