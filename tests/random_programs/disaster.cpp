// Behavior of a task that acts on a value that no serial execution sees (C18): it may do anything, and
// nothing of it may be seen. Reached in a serial execution, most of these end the program.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "rubato/rubato.hpp"
#include "tests/random_programs/program.hpp"

namespace random_tasks {

#if defined(__riscv)

namespace {

void scribble(std::uint64_t key) {
  auto* const at = reinterpret_cast<volatile std::uint64_t*>(&memory);
  for (std::uint64_t i = 0; i < sizeof memory / 8; ++i) at[i] = mix(key + i);
}

void stray(std::uint64_t) { memory.bytes[0] ^= 1; }

[[gnu::noinline]] std::uint64_t descend(std::uint64_t depth) {
  volatile std::uint64_t frame[64];
  frame[depth % 64] = depth;
  return depth == 0 ? frame[0] : descend(depth - 1) + frame[depth % 64];
}

}  // namespace

void remember_stack() {
  volatile std::uint64_t here = 0;
  memory.stacks[reinterpret_cast<std::uintptr_t>(&here) >> 12 & 7] = reinterpret_cast<std::uintptr_t>(&here);
}

void disaster(std::uint64_t key) {
  const std::uint64_t wild = mix(key);
  if (options.capsules && wild % 2 == 0) wild_capsules(wild >> 8);
  switch (key % 16) {
    case 0:
      *reinterpret_cast<volatile std::uint64_t*>(wild) = key;
      break;
    case 1:
      *reinterpret_cast<volatile std::uint8_t*>(wild & 0x3fffffffff) = 0;
      break;
    case 2:
      reinterpret_cast<void (*)()>(wild)();
      break;
    case 3:
      reinterpret_cast<void (*)()>(wild & 0xffffe)();
      break;
    case 4:
      asm volatile("jalr zero, 0(zero)");
      break;
    case 5:
      asm volatile(".word 0");
      break;
    case 6:
      __builtin_trap();
    case 7:
      _exit(99);
    case 8: {
      constexpr char text[] = "a disaster is visible\n";
      static_cast<void>(!write(1, text, sizeof text - 1));
      break;
    }
    case 9:
      scribble(key);
      break;
    case 10:
      for (unsigned i = 0; i < 100; ++i) {
        if (rubato::engine::is_timestamped()) {
          rubato::create<rubato::spec>(&stray, {.at = rubato::timestamp()}, key);
        } else {
          rubato::create<rubato::spec>(&stray, {}, key);
        }
      }
      break;
    case 11:
      rubato::create<rubato::nonspec>(&stray, {.at = rubato::timestamp() - 1}, key);
      break;
    case 12:
      if (const std::uint64_t other = memory.stacks[wild & 7]; other != 0)
        *reinterpret_cast<volatile std::uint64_t*>(other) = key;
      break;
    case 13:
      asm volatile("fence.i");
      break;
    case 14:
      static_cast<void>(descend(2000));
      break;
    default:
      break;
  }
  scribble(key);
  volatile bool ends = false;
  while (!ends) {
  }
}

#else

void remember_stack() {}
void disaster(std::uint64_t) { std::abort(); }

#endif

}  // namespace random_tasks
