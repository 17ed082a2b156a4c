// Accesses allocate nothing: every operator new of this test program is counted.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/rng.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace rubato::chip {
namespace {

TEST(MemoryHierarchy, AllocatesNothingWhileItServes) {
  Config config = tiny_caches(64, 4);
  config.coherence.check = false;
  Rig rig(config);
  Rng rng(6);
  const std::uint64_t before = allocations;
  for (std::uint64_t i = 0; i < 20000; ++i)
    rig.use(static_cast<std::uint32_t>(rng.below(64)), LineAddr{4096 + rng.below(600)},
            rng.below(3) == 0 ? AccessKind::store : AccessKind::load, i * 3);
  EXPECT_EQ(allocations, before);
  EXPECT_GT(rig.mesi.tile(TileId{0}).counters.evictions, 0U);
}

}  // namespace
}  // namespace rubato::chip
