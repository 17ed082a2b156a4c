// SPDX-License-Identifier: MIT
#include "chip/cache/set_array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace rubato::chip {
namespace {

struct Payload {
  std::uint64_t value = 7;
  std::uint64_t more[3] = {};
};

/// Memory that was used before: every byte has a value.
class UsedMemory final : public std::pmr::memory_resource {
 public:
  static constexpr std::byte kOld{0xab};
  /// Bytes of blocks in which nothing was written yet.
  std::size_t untouched_bytes() const {
    std::size_t bytes = 0;
    for (const std::vector<std::byte>& block : blocks_)
      if (std::all_of(block.begin(), block.end(), [](std::byte b) { return b == kOld; }))
        bytes += block.size();
    return bytes;
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    return blocks_.emplace_back(bytes, kOld).data();
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::vector<std::vector<std::byte>> blocks_;
};

TEST(SetArray, TouchesNoPayloadBeforeALineNeedsIt) {
  UsedMemory memory;
  SetArray<Payload> array(std::uint64_t{1} << 16, 16, &memory);
  EXPECT_EQ(memory.untouched_bytes(), array.slots() * sizeof(Payload));
  for (std::uint32_t slot = 0; slot < array.slots(); ++slot) ASSERT_TRUE(array.is_empty(slot));
}

TEST(SetArray, GivesALineThatComesAPayloadOfItsOwn) {
  UsedMemory memory;
  SetArray<Payload> array(std::uint64_t{1} << 16, 16, &memory);
  const LineAddr line{0x1234};
  const std::uint32_t slot = array.victim(line);
  array.fill(slot, line).more[2] = 5;
  EXPECT_EQ(array[slot].value, 7u);
  array[slot].value = 8;
  array.erase(slot);
  array.fill(slot, line);
  EXPECT_EQ(array[slot].value, 7u);
  EXPECT_EQ(array[slot].more[2], 0u);
  EXPECT_EQ(array.find(line), slot);
}

}  // namespace
}  // namespace rubato::chip
