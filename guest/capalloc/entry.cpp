// capalloc's capsules, and the C library's functions over them (P68, P73 to P75): a program that links
// this has it for malloc, free and all that call those, as C++'s operators new and delete do. Espresso, Sec.
// VI-C, Listing 2.
//
// A speculative task's free is a NONSPEC child, which runs once the task has committed. If capsules are
// switched off (task.capsules=false), the task itself does all of it, speculatively.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <sys/syscall.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "guest/capalloc/heap.hpp"
#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

namespace capsule = rubato::capsule;
namespace instruction = rubato::engine::instruction;

/// Speculatively no more a call: that much is likely to be mispeculation.
constexpr std::uint64_t kMostSpeculative = std::uint64_t{16} << 20;

/// Bytes that realloc() copies speculatively at most: more fill the filters of conflict detection, so that
/// nearly every such attempt is aborted.
constexpr std::uint64_t kMostCopied = std::uint64_t{64} << 10;

/// Large first growth: a task that finds the heap too small promotes, and all others wait for it. Until it is
/// touched it is only address space.
constexpr std::uint64_t kFirstGrowth = std::uint64_t{64} << 20;

struct ChipSystem {
  using Lock = capsule::TicketLock;

  static bool is_task() { return instruction::read<instruction::kIsTask>() != 0; }
  static std::uint64_t core() { return instruction::read<instruction::kCore>(); }
  static unsigned cores() { return static_cast<unsigned>(instruction::read<instruction::kCores>()); }
  static std::uintptr_t reserve(std::uint64_t bytes, bool is_known) {
    const auto map = [is_known](std::size_t all) {
      constexpr int kMapUntracked = 0x02000000;
      return capsule::system_call(
          SYS_mmap, 0, all, PROT_NONE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (is_known ? kMapUntracked : 0), -1, 0);
    };
    if (is_known) return rubato::engine::reserve_untracked(rubato::engine::whole_pages(bytes), map);
    const std::int64_t at = map(bytes);
    return at < 0 ? 0 : static_cast<std::uintptr_t>(at);
  }
  static bool commit(std::uintptr_t begin, std::uint64_t bytes) {
    const std::uintptr_t low = begin / rubato::kUntrackedPage * rubato::kUntrackedPage;
    return capsule::system_call(SYS_mprotect, low, rubato::engine::whole_pages(begin + bytes - low),
                                PROT_READ | PROT_WRITE) == 0;
  }
};

using Heap = rubato::capalloc::Heap<ChipSystem>;
using rubato::capalloc::GiveError;
using rubato::capalloc::Taken;

RUBATO_UNTRACKED rubato::untracked<Heap> heap;

/// For the fast paths: the compiler, which does not know where it is, addresses all of it by one register.
[[gnu::always_inline]] inline Heap& near_heap() {
  Heap* at = &*heap;
  asm("" : "+r"(at));
  return *at;
}

/// The core's number and 1 in a task that nothing can undo, which has the core's cache for its own; below 0
/// in one that may be undone; 0 outside tasks.
[[gnu::always_inline]] inline std::int64_t own_core() {
  return static_cast<std::int64_t>(instruction::read_now<instruction::kOwnCore>());
}

void give_back(std::uint64_t address);

/// Without counting bits, which is a library function of many instructions.
constexpr bool is_power_of_two(std::uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

/// The rest of an allocation that is large, or found no block: alignment 0 for as much as the class gives.
[[gnu::noinline]] Taken take_more(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > kMostSpeculative || alignment > kMostSpeculative) capsule::promote();
  while (true) {
    const Taken taken = alignment == 0 ? heap->take(bytes) : heap->take(bytes, alignment);
    if (taken.address != 0) {
      capsule::on_abort(give_back, taken.address);
      return taken;
    }
    capsule::promote();
    if (heap->grow(bytes, alignment)) continue;
    errno = ENOMEM;  // not speculative by now
    return {0, 0};
  }
}

}  // namespace

/// For speculative tasks; threads, which a core's cache is not for, have the next.
RUBATO_CAPSULE(std::uint64_t, capalloc_take, (std::uint64_t bytes)) {
  if (bytes <= rubato::kLargestSmallBlock) [[likely]] {
    Heap& near = near_heap();
    const std::uint64_t address = near.take_cached(bytes, near.cache_of(ChipSystem::core()));
    if (address != 0) [[likely]] {
      capsule::on_abort(give_back, address);
      return address;
    }
  }
  return take_more(bytes, 0).address;
}

/// Before all others, outside tasks: those that run before fail as one with a wild pointer does.
RUBATO_CAPSULE(bool, capalloc_set, ()) {
  capsule::promote();
  return heap->is_set() || (heap->set() && heap->grow(kFirstGrowth, 0));
}

/// The second word: whether the block reads as zero.
RUBATO_CAPSULE(Taken, capalloc_take_fresh, (std::uint64_t bytes)) { return take_more(bytes, 0); }

RUBATO_CAPSULE(std::uint64_t, capalloc_take_aligned, (std::uint64_t bytes, std::uint64_t alignment)) {
  if (!is_power_of_two(alignment)) capsule::promote();
  return is_power_of_two(alignment) ? take_more(bytes, alignment).address : 0;
}

RUBATO_CAPSULE(std::uint64_t, capalloc_usable, (std::uint64_t address)) { return heap->usable(address); }

/// Makes a large block longer where it is. False: it must be copied.
RUBATO_CAPSULE(bool, capalloc_lengthen, (std::uint64_t address, std::uint64_t bytes)) {
  if (bytes > kMostSpeculative) capsule::promote();
  rubato::capalloc::Lengthened found = heap->lengthen(address, bytes);
  if (found.grow_helps) {
    capsule::promote();
    if (heap->grow(bytes, 0)) found = heap->lengthen(address, bytes);
  }
  if (found.number == 0) {
    if (bytes > kMostCopied) capsule::promote();
    return false;
  }
  capsule::on_abort([](std::uint64_t block, std::uint32_t number,
                       std::uint32_t pages) { heap->undo_lengthen(block, number, pages); },
                    address, found.number, found.pages_before);
  return true;
}

/// Makes a large block shorter where it is, which nothing could undo. False: it must be copied.
RUBATO_CAPSULE(bool, capalloc_shorten, (std::uint64_t address, std::uint64_t bytes)) {
  if (bytes > kMostCopied) capsule::promote();
  return !capsule::is_speculative() && heap->shorten(address, bytes);
}

/// Error in the heap, or null. For use while no task runs.
RUBATO_CAPSULE(const char*, capalloc_check, ()) { return heap->is_set() ? heap->check() : nullptr; }

namespace {

/// Reports misuse of a block by the program, in the words of the ideal allocator.
[[gnu::cold, gnu::noinline]] void fail(std::uint64_t address, GiveError error) {
  if (address == 0) return;  // free(nullptr) costs nothing elsewhere
  capsule::promote();        // a speculative task may have gone wrong
  static char sentence[128];
  char digits[19];
  char* first = digits + sizeof(digits) - 1;
  *first = 0;
  std::uint64_t rest = address;
  do *--first = "0123456789abcdef"[rest % 16];
  while ((rest /= 16) != 0);
  std::strcpy(sentence, error == GiveError::freed_before ? "freed the block at 0x" : "freed 0x");
  std::strcat(sentence, first);
  std::strcat(sentence, error == GiveError::freed_before ? " a second time"
                                                         : ", which is not the start of a block of the heap");
  rubato_misuse(sentence);
}

[[gnu::noinline]] void give_back_slowly(std::uint64_t address, std::int64_t mark) {
  if (const GiveError error = heap->give_marked(address, mark); error != GiveError::none)
    fail(address, error);
}

/// Gives a block back, which nothing could undo, and so is no capsule. If there are capsules and it is called
/// speculatively, the task has gone wrong: its first look at the heap is an exception.
[[gnu::always_inline]] inline void give_back_to(std::int64_t next_core, std::uint64_t address) {
  Heap& near = near_heap();
  near.give_cached(address, near.cache_before(next_core), give_back_slowly);
}

/// For a task that may be undone, or outside tasks.
[[gnu::noinline]] void give_back_elsewhere(std::uint64_t address) {
  if (ChipSystem::is_task()) return give_back_to(static_cast<std::int64_t>(ChipSystem::core()) + 1, address);
  if (const GiveError error = heap->give(address); error != GiveError::none) fail(address, error);
}

void give_back(std::uint64_t address) {
  if (const std::int64_t next_core = own_core(); next_core > 0) [[likely]]
    return give_back_to(next_core, address);
  give_back_elsewhere(address);
}

/// For a task that may be undone, or outside tasks.
[[gnu::noinline]] void free_elsewhere(std::uint64_t address) {
  if (!capsule::is_speculative() || instruction::read<instruction::kHasCapsules>() == 0)
    return give_back_elsewhere(address);
  // The task may be for nothing.
  if (address != 0) rubato::create<rubato::nonspec>(give_back, {}, address);
}

bool is_set = false;

[[gnu::cold, gnu::noinline]] void set() {
  rubato::engine::set_capsules();
  if (!capalloc_set()) rubato_misuse("capalloc: there is no address space for the heap");
  is_set = true;
}

/// The C library allocates before constructors run, and before the capsules are set.
void be_set() {
  if (!is_set) [[unlikely]]
    set();
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

[[gnu::noinline]] void* take(std::uint64_t bytes) {
  be_set();
  return reinterpret_cast<void*>(capalloc_take_fresh(bytes).address);
}

/// Small blocks by malloc(), whose fast paths need no capsule of their own.
void* take_aligned(std::uint64_t bytes, std::uint64_t alignment) {
  if (const std::uint64_t small = Heap::small_bytes(bytes, alignment); small != 0) return malloc(small);
  be_set();
  return reinterpret_cast<void*>(capalloc_take_aligned(bytes, alignment));
}

}  // namespace

extern "C" {

/// Non-speculative tasks work on untracked memory as it is. All is set before the first task.
void* malloc(std::size_t bytes) {
  const std::int64_t next_core = own_core();
  if (next_core > 0) [[likely]] {
    if (bytes <= rubato::kLargestSmallBlock) [[likely]] {
      Heap& near = near_heap();
      const std::uint64_t address = near.take_cached(bytes, near.cache_before(next_core));
      if (address != 0) [[likely]]
        return reinterpret_cast<void*>(address);
    }
  } else if (next_core != 0) {
    return reinterpret_cast<void*>(capalloc_take(bytes));
  }
  return take(bytes);
}

void free(void* block) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (const std::int64_t next_core = own_core(); next_core > 0) [[likely]]
    return give_back_to(next_core, address);
  free_elsewhere(address);
}

void cfree(void* block) { free(block); }

void* calloc(std::size_t count, std::size_t each) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes)) return no_memory();
  be_set();
  const Taken taken = capalloc_take_fresh(bytes);
  if (taken.address == 0) return nullptr;
  auto* const block = reinterpret_cast<void*>(taken.address);
  return taken.is_fresh != 0 ? block : std::memset(block, 0, bytes);
}

/// A large block for one that grows, with room to grow again: only address space, until it is touched.
static void* take_roomy(std::size_t bytes) {
  const int before = errno;
  if (void* const block = malloc(bytes + bytes / 2)) return block;
  errno = before;
  return malloc(bytes);
}

void* realloc(void* block, std::size_t bytes) {
  if (block == nullptr) return malloc(bytes);
  if (bytes == 0) {
    free(block);
    return nullptr;
  }
  const auto address = reinterpret_cast<std::uint64_t>(block);
  const std::uint64_t usable = capalloc_usable(address);
  if (usable == 0) give_back(address);  // says what is wrong
  if (bytes <= usable && (usable <= 64 || bytes > usable / 2)) return block;
  if (usable > rubato::kLargestSmallBlock && bytes > rubato::kLargestSmallBlock &&
      (bytes > usable ? capalloc_lengthen(address, bytes) : capalloc_shorten(address, bytes))) {
    return block;
  }
  void* const moved =
      usable > rubato::kLargestSmallBlock && bytes > usable ? take_roomy(bytes) : malloc(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, bytes < usable ? bytes : usable);
  free(block);
  return moved;
}

void* reallocarray(void* block, std::size_t count, std::size_t each) {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(count, each, &bytes) ? no_memory() : realloc(block, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  return take_aligned(bytes, std::bit_ceil(alignment == 0 ? 1 : alignment));
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (is_power_of_two(alignment)) return take_aligned(bytes, alignment);
  errno = EINVAL;
  return nullptr;
}

int posix_memalign(void** place, std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment) || alignment < sizeof(void*)) return EINVAL;
  const int before = errno;
  void* const block = take_aligned(bytes, alignment);
  if (block == nullptr) {
    errno = before;
    return ENOMEM;
  }
  *place = block;
  return 0;
}

void* valloc(std::size_t bytes) { return take_aligned(bytes, rubato::kUntrackedPage); }

void* pvalloc(std::size_t bytes) { return valloc(rubato::engine::whole_pages(bytes)); }

std::size_t malloc_usable_size(void* block) {
  return block == nullptr ? 0 : capalloc_usable(reinterpret_cast<std::uint64_t>(block));
}

}  // extern "C"
