// Accesses to shared memory. On the chip each is the very instruction it is named after.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/random_programs/program.hpp"

namespace random_tasks {

Memory memory;

namespace {

#if defined(__riscv)
#define RUBATO_LOAD(instruction) asm volatile(instruction " %0, 0(%1)" : "=r"(value) : "r"(at) : "memory")
#define RUBATO_STORE(instruction) asm volatile(instruction " %0, 0(%1)" : : "r"(value), "r"(at) : "memory")
std::uint64_t load(const void* at, unsigned bytes) {
  std::uint64_t value = 0;
  switch (bytes) {
    case 1:
      RUBATO_LOAD("lbu");
      break;
    case 2:
      RUBATO_LOAD("lhu");
      break;
    case 4:
      RUBATO_LOAD("lwu");
      break;
    default:
      RUBATO_LOAD("ld");
      break;
  }
  return value;
}
void store(void* at, unsigned bytes, std::uint64_t value) {
  switch (bytes) {
    case 1:
      RUBATO_STORE("sb");
      break;
    case 2:
      RUBATO_STORE("sh");
      break;
    case 4:
      RUBATO_STORE("sw");
      break;
    default:
      RUBATO_STORE("sd");
      break;
  }
}
void copy_by_float(void* to, const void* from) {
  asm volatile("fld ft0, 0(%1)\n\tfsd ft0, 0(%0)" : : "r"(to), "r"(from) : "ft0", "memory");
}
#else
std::uint64_t load(const void* at, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}
void store(void* at, unsigned bytes, std::uint64_t value) { std::memcpy(at, &value, bytes); }
void copy_by_float(void* to, const void* from) { store(to, 8, load(from, 8)); }
#endif

/// An address that the task may touch with `bytes` bytes, aligned to them if it must be. In memory that all
/// tasks may touch, accesses can straddle words and lines. In memory of a locale they stay within a word.
std::uint8_t* place(Random& random, const Reach& reach, unsigned bytes, bool aligned) {
  if (reach.everything && !(reach.has_locale && random.one_in(4))) {
    const std::uint64_t end = options.lines * 64 - bytes;
    const std::uint64_t at = random.below(end + 1);
    return memory.bytes + (aligned ? at & ~std::uint64_t{bytes - 1} : at);
  }
  auto* const word =
      reinterpret_cast<std::uint8_t*>(&memory.owned[random.below(kWordsPerLocale)][reach.locale]);
  const std::uint64_t at = random.below(8 - bytes + 1);
  return word + (aligned ? at & ~std::uint64_t{bytes - 1} : at);
}

template <class T>
std::uint64_t modify(Random& random, T* at, std::uint64_t seen) {
  const T operand = static_cast<T>(seen ^ random.next());
  switch (random.below(6)) {
    case 0:
      return __atomic_fetch_add(at, operand, __ATOMIC_RELAXED);
    case 1:
      return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);
    case 2:
      return __atomic_fetch_and(at, operand | 0xff, __ATOMIC_ACQUIRE);
    case 3:
      return __atomic_fetch_or(at, operand & 0xf0f, __ATOMIC_RELEASE);
    case 4:
      return __atomic_exchange_n(at, operand, __ATOMIC_RELAXED);
    default:
      break;
  }
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);  // lr and sc
  while (!__atomic_compare_exchange_n(at, &old, static_cast<T>(old * 3 + operand), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

/// Values go by way of the stack, at places that depend on them.
std::uint64_t through_stack(Random& random, std::uint64_t seen) {
  volatile std::uint64_t slots[24];
  for (unsigned i = 0; i < 24; ++i) slots[i] = seen + i;
  slots[seen % 24] = random.next();
  slots[(seen >> 8) % 24] = slots[(seen >> 16) % 24] + 1;
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < 24; ++i) sum = mix(sum ^ slots[i]);
  return sum;
}

struct Pair {
  std::uint64_t* first;
  std::uint64_t* second;
};
Pair pair_of(Random& random, const Reach& reach) {
  if (reach.everything) {
    const std::uint64_t i = random.below(kPairs);
    return {&memory.pairs.first[i], &memory.pairs.second[kPairs - 1 - i]};
  }
  return {&memory.owned_first[reach.locale], &memory.owned_second[reach.locale]};
}

int null_file = -1, zero_file = -1;

}  // namespace

void access(Random& random, const Reach& reach, std::uint64_t& seen) {
  const unsigned bytes = 1u << random.below(4);
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      seen = mix(seen ^ load(place(random, reach, bytes, random.one_in(2)), bytes));
      return;
    case 4:
    case 5:
    case 6: {
      std::uint8_t* const at = place(random, reach, bytes, random.one_in(2));
      return store(at, bytes, seen ^ random.next());
    }
    case 7: {
      auto* const at = reinterpret_cast<std::uint64_t*>(place(random, reach, 8, true));
      seen = mix(seen ^ modify(random, at, seen));
      return;
    }
    case 8: {
      auto* const at = reinterpret_cast<std::uint32_t*>(place(random, reach, 4, true));
      seen = mix(seen ^ modify(random, at, seen));
      return;
    }
    case 9: {
      std::uint8_t* const to = place(random, reach, 8, random.one_in(2));
      const std::uint8_t* const from = place(random, reach, 8, random.one_in(2));
      return copy_by_float(to, from);
    }
    case 10:
      seen = through_stack(random, seen);
      return;
    default:  // a loop over neighbours: many accesses to lines it has used
      for (unsigned i = 0; i < 8; ++i) {
        std::uint8_t* const at = place(random, reach, 1, true);
        store(at, 1, load(at, 1) + seen);
      }
  }
}

void update_pair(Random& random, const Reach& reach, std::uint64_t& seen) {
  const Pair pair = pair_of(random, reach);
  const std::uint64_t value = mix(load(pair.first, 8) ^ random.next());
  store(pair.first, 8, value);
  const std::uint64_t between = random.below(3);
  for (std::uint64_t i = 0; i < between; ++i) access(random, reach, seen);
  store(pair.second, 8, value);
}

bool is_pair_whole(Random& random, const Reach& reach, std::uint64_t& seen) {
  const Pair pair = pair_of(random, reach);
  const std::uint64_t first = load(pair.first, 8);
  const std::uint64_t between = random.below(3);
  for (std::uint64_t i = 0; i < between; ++i) access(random, reach, seen);
  return load(pair.second, 8) == first;
}

// ---- The heap ----

void exchange_block(Random& random, const Reach& reach, std::uint64_t& seen) {
  Block*& place = reach.everything ? memory.blocks[random.below(kBlocks)] : memory.owned_blocks[reach.locale];
  const std::uint64_t words = 1 + random.below(random.one_in(8) ? 300 : 12);
  const std::size_t bytes = sizeof(Block) + words * sizeof(std::uint64_t);
  Block* const old = place;
  if (old == nullptr || !random.one_in(4)) {
    auto* const block = static_cast<Block*>(random.one_in(3) ? std::calloc(1, bytes) : std::malloc(bytes));
    for (std::uint64_t i = 0; i < words; ++i) block->word(i) = seen + i;
    for (std::uint64_t i = 0; old != nullptr && i < old->words; ++i) seen = mix(seen ^ old->word(i));
    block->words = words;
    place = block;
    std::free(old);
  } else {
    const std::uint64_t kept = old->words;
    place = static_cast<Block*>(std::realloc(old, bytes));
    for (std::uint64_t i = kept; i < words; ++i) place->word(i) = seen - i;
    place->words = words;
    seen = mix(seen ^ place->word(0));
  }
}

// ---- System calls ----

void wait(Random& random) {
  const timespec time{0, static_cast<long>(random.below(3000))};
  nanosleep(&time, nullptr);
}

void open_files() {
  null_file = open("/dev/null", O_WRONLY);
  zero_file = open("/dev/zero", O_RDONLY);
}

void system_call(Random& random, const Reach& reach, std::uint64_t& seen) {
  const unsigned bytes = 1u << random.below(4);
  switch (random.below(4)) {
    case 0:
      static_cast<void>(getpid());
      return;
    case 1:
      seen += static_cast<std::uint64_t>(write(null_file, place(random, reach, bytes, false), bytes));
      return;
    case 2:
      seen += static_cast<std::uint64_t>(read(zero_file, place(random, reach, bytes, false), bytes));
      return;
    default: {
      const std::size_t length = 4096 * (1 + random.below(3));
      void* const pages = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (pages == MAP_FAILED) return;
      auto* const at = static_cast<std::uint8_t*>(pages) + length - 8;
      store(at, 8, seen);
      access(random, reach, seen);
      seen = mix(seen ^ load(at, 8));
      munmap(pages, length);
    }
  }
}

}  // namespace random_tasks
