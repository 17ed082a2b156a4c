// Memory of resources: on lines of their own, used again, from any thread.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "rubato/engine/native_heap.hpp"
#include "rubato/rubato.hpp"

namespace rubato {
namespace {

template <std::size_t size>
struct Object {
  unsigned char bytes[size];
  explicit Object(int value) { std::memset(bytes, value, size); }
};

bool is_filled(const auto& object, int value) {
  for (const unsigned char byte : object.bytes) {
    if (byte != value) return false;
  }
  return true;
}

template <std::size_t size>
void make_and_remove_many() {
  std::vector<resource<Object<size>>> made;
  for (int i = 0; i < 3000; ++i) made.push_back(make_resource<Object<size>>({}, i % 256));
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made[static_cast<std::size_t>(i)].get()) % 64, 0u);
    EXPECT_TRUE(is_filled(*made[static_cast<std::size_t>(i)], i % 256)) << "overlaps another one";
  }
  for (const auto& handle : made) remove(handle);
}

TEST(ResourceHeap, GivesBlocksOfEverySizeThatDoNotOverlap) {
  make_and_remove_many<1>();
  make_and_remove_many<64>();
  make_and_remove_many<65>();
  make_and_remove_many<1024>();
  make_and_remove_many<4096 - 64>();
  make_and_remove_many<4096>();
}

TEST(ResourceHeap, UsesMemoryOfRemovedResourcesAgain) {
#if defined(RUBATO_POISONS_MEMORY)
  GTEST_SKIP() << "under AddressSanitizer freed memory is kept back";
#endif
  std::set<void*> first, second;
  std::vector<resource<Object<700>>> made;
  for (int i = 0; i < 500; ++i) made.push_back(make_resource<Object<700>>({}, 1));
  for (const auto& handle : made) first.insert(handle.get());
  for (const auto& handle : made) remove(handle);
  made.clear();
  for (int i = 0; i < 500; ++i) made.push_back(make_resource<Object<700>>({}, 2));
  for (const auto& handle : made) second.insert(handle.get());
  for (const auto& handle : made) remove(handle);
  EXPECT_EQ(first, second);
}

TEST(ResourceHeap, ReportsAnAccessAfterRemovalUnderAddressSanitizer) {
#if defined(RUBATO_POISONS_MEMORY)
  const auto removed = make_resource<Object<100>>({}, 1);
  remove(removed);
  EXPECT_DEATH(static_cast<void>(is_filled(*removed, 1)), "AddressSanitizer");
#else
  GTEST_SKIP() << "not compiled with AddressSanitizer";
#endif
}

TEST(ResourceHeap, ServesThreadsAtOnce) {
  const auto work = [](int value) {
    for (int round = 0; round < 50; ++round) {
      std::vector<resource<Object<300>>> made;
      for (int i = 0; i < 100; ++i) made.push_back(make_resource<Object<300>>({}, value));
      for (const auto& handle : made) ASSERT_TRUE(is_filled(*handle, value));
      for (const auto& handle : made) remove(handle);
    }
  };
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
}

}  // namespace
}  // namespace rubato
