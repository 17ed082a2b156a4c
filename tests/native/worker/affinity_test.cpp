// Workers without CPUs of their own may use all that the process may, whatever the thread that calls run() is
// bound to. R3.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "native/topology/topology.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/seen_affinity.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

TEST(Affinity, OfTheCallerIsNotThatOfOtherWorkers) {
  const std::vector<unsigned> all = native::current_affinity();
  if (all.size() < 2) GTEST_SKIP() << "one CPU only";
  const std::uint32_t workers = static_cast<std::uint32_t>(all.size()) + 1;  // no CPU each
  seen.clear();
  use_workers(workers);
  const std::vector<unsigned> bound{all.back()};
  std::jthread([&] {
    ASSERT_TRUE(native::pin_this_thread(bound.front()));
    for (std::uint32_t w = 0; w < workers; ++w) create<nonspec>(note_affinity, {.core = w});
    run();
    EXPECT_THAT(seen[std::this_thread::get_id()], ::testing::ElementsAre(bound)) << "is left alone";
    seen.erase(std::this_thread::get_id());
  }).join();
  EXPECT_EQ(seen.size(), workers - 1);
  for (const auto& [thread, affinities] : seen) EXPECT_THAT(affinities, ::testing::ElementsAre(all));
}

}  // namespace
