// Tasks that conflict allocate: of all blocks that their attempts got, only those of committed tasks are in
// use in the end. Abort handlers took back all others (P73).
// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

constexpr std::uint64_t kTasks = 64, kNoted = 1 << 14;
struct Notes {
  std::uint64_t count;
  std::uint64_t blocks[kNoted];
};
RUBATO_UNTRACKED rubato::untracked<Notes> notes;
rubato::tracked<std::uint64_t> committed;

}  // namespace

RUBATO_CAPSULE(void, note, (std::uint64_t block)) {
  notes->blocks[__atomic_fetch_add(&notes->count, 1, __ATOMIC_RELAXED) % kNoted] = block;
}

namespace {

void take() {
  const std::uint64_t before = committed;
  note(reinterpret_cast<std::uint64_t>(std::malloc(48)));
  committed = before + 1;
}

}  // namespace

int main() {
  for (std::uint64_t i = 0; i < kTasks; ++i) rubato::create<rubato::spec>(take, {.at = i});
  rubato::run();
  if (notes->count > kNoted) return 2;
  std::sort(notes->blocks, notes->blocks + notes->count);
  const auto blocks = std::unique(notes->blocks, notes->blocks + notes->count) - notes->blocks;
  std::uint64_t used = 0;
  for (std::ptrdiff_t i = 0; i < blocks; ++i)
    used += malloc_usable_size(reinterpret_cast<void*>(notes->blocks[i])) != 0 ? 1 : 0;
  std::printf("attempts %lu, in use %lu\n", notes->count, used);
  return notes->count > kTasks && used == kTasks && static_cast<std::uint64_t>(committed) == kTasks ? 0 : 1;
}
