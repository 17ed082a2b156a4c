// Banks of a home's storage (llc.banks): requests of two banks do not wait for each other, and each bank has
// its part of directory, filter and arbitration.
// SPDX-License-Identifier: MIT
#include "chip/coherence/llc_banks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/chip/coherence/rig.hpp"
#include "tests/chip/coherence/token/users.hpp"

namespace rubato::chip {
namespace {

constexpr TileId kHome{0};

/// Only ports delay one request for another.
Config of_banks(const char* protocol, std::uint32_t banks) {
  Config config = tiles(protocol, 8, 1);
  config.llc.banks = banks;
  config.net.contention = false;
  config.mem.bytes_per_cycle = 1024;
  return config;
}

/// Lines of one home, all of an even number, or of even and odd ones in turn: of one of two banks, or of
/// both.
std::vector<LineAddr> lines_of(const Users& users, bool all_even) {
  std::vector<LineAddr> lines;
  for (unsigned i = 0; i < 8; ++i) {
    const std::uint64_t odd = all_even ? 0 : i % 2;
    lines.push_back(users.line_of(kHome, i, 4096 + odd, 2));
  }
  return lines;
}

/// All cores ask the home at once for a line each that it has in its slice. @returns the sum of the cycles
/// that they wait.
std::uint64_t waited(const char* protocol, std::uint32_t banks, bool all_even) {
  Users users(of_banks(protocol, banks));
  const std::vector<LineAddr> lines = lines_of(users, all_even);
  std::size_t asked = 0;
  const auto use = [&](std::size_t core, std::uint64_t line) {
    users.ask(static_cast<std::uint32_t>(core), LineAddr{line}, AccessKind::load);
    return users.performed(asked++);
  };
  for (std::size_t core = 0; core < lines.size(); ++core)
    for (std::uint64_t i = 0; i <= 4; ++i) use(core, lines[core].value + i * 4096);  // an L2 has four ways
  const Cycle begin = users.now();
  const double hits = users.sum_of("tile.0.llc.hits");
  for (std::size_t core = 0; core < lines.size(); ++core)
    users.ask(static_cast<std::uint32_t>(core), lines[core], AccessKind::load);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) sum += users.performed(asked + i) - begin;
  EXPECT_EQ(users.sum_of("tile.0.llc.hits"), hits + 8);
  return sum;
}

class BanksOf : public testing::TestWithParam<const char*> {};

TEST_P(BanksOf, TakeAnAccessACycleEach) {
  EXPECT_LT(waited(GetParam(), 2, false), waited(GetParam(), 1, false));
}

TEST_P(BanksOf, AreOfNoUseToLinesOfOne) {
  EXPECT_EQ(waited(GetParam(), 2, true), waited(GetParam(), 1, true));
}

INSTANTIATE_TEST_SUITE_P(Tokens, BanksOf, testing::Values("sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& of) { return std::string(of.param); });

/// Two cores, as far from the home, ask it for lines at once. @returns the later's cycle.
Cycle later_of_two(std::uint32_t banks, bool same_bank) {
  Config config = tiny_caches(4, 1);  // 2x2 tiles
  config.llc.banks = banks;
  Rig rig(config);
  const LineAddr first = rig.line_at(0, 0);
  unsigned n = 0;
  LineAddr second = first;
  while (second == first || (second.value % 2 == first.value % 2) != same_bank)
    second = rig.line_at(0, 3, n++);
  const Cycle one = rig.access(1, first, AccessKind::load, 0).cycle;
  return later(one, rig.access(2, second, AccessKind::load, 0).cycle);
}

TEST(BanksOfMesi, TakeAnAccessACycleEach) {
  EXPECT_EQ(later_of_two(1, false), later_of_two(2, false) + 1);
  EXPECT_EQ(later_of_two(1, true), later_of_two(2, true));
}

TEST(LlcBanks, DivideTheLinesOfAHomeEvenlyWhateverSaysTheHome) {
  for (const char* interleave : {"hash", "low"}) {
    Config config = of_banks("sparse", 4);
    config.llc.interleave = interleave;
    const Users users(config);
    const LlcBanks banks(resolve(config));
    unsigned lines[4] = {};
    for (unsigned i = 0; i < 256; ++i) ++lines[banks.of(users.line_of(kHome, i))];
    for (const unsigned count : lines) EXPECT_NEAR(count, 64, 24) << interleave;
    EXPECT_EQ(banks.of(TileId{3}, LineAddr{4096}), 12 + banks.of(LineAddr{4096}));
  }
}

std::string refusal(const Config& config) {
  try {
    const Users users(config);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no refusal";
}

TEST(LlcBanks, DivideTheDirectoryAndTheFilterOrAreRefused) {
  Config config = of_banks("flask", 8);
  config.coherence.capacity = 4;  // 16 lines of an L2: 8 rows in each of 8 ways
  EXPECT_EQ(refusal(config), "no refusal");
  config.coherence.capacity = 2;
  EXPECT_EQ(refusal(config), "llc.banks is 8, which does not divide the 4 sets of a tile's directory");
  config.coherence.directory_assoc = 1;
  EXPECT_EQ(refusal(config),
            "llc.banks is 8, but a sub-table of a tile's filter has 4 rows, fewer than banks");
  config.coherence.protocol = "sparse";
  EXPECT_EQ(refusal(config), "no refusal");
  config = of_banks("flask", 2);
  config.coherence.partition = "adaptive";
  EXPECT_EQ(refusal(config),
            "coherence.partition is adaptive, which takes a slice of one bank, but llc.banks is 2");
}

}  // namespace
}  // namespace rubato::chip
