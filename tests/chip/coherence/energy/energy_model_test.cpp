// Energy as a function of counts (K77, K78), against values that were computed by hand. Arrays are chosen so
// that roots are short: with energy.sram_pj = 1 an array of 16 KiB takes 4 pJ for 64 bits and, since a line
// is eight times as much, sqrt(8) times that for one.
// SPDX-License-Identifier: MIT
#include "chip/coherence/energy/energy_model.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "chip/coherence/energy/array_energy.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/session/stats_json.hpp"
#include "chip/stats/registry.hpp"
#include "chip/time/timeline.hpp"

namespace rubato::chip {
namespace {

using Counts = std::map<std::string, double, std::less<>>;
const double kRootOf8 = std::sqrt(8.0);

Config small(const std::string& protocol) {
  Config c;
  c.chip.cores = c.chip.cores_per_tile = 1;
  c.chip.frequency_mhz = 1000;
  c.l1i = c.l1d = {.size = 16 << 10, .ways = 8, .latency = 2};
  c.l2 = {.size = 64 << 10, .ways = 8, .latency = 7};
  c.llc = {.size = 256 << 10, .ways = 16, .latency = 9};
  c.coherence.protocol = protocol;
  c.energy = {.sram_pj = 1, .flit_hop_pj = 1, .leakage_mw_per_mib = 0, .memory_nj = 1};
  return resolve(c);
}
/// None of anything that the configuration's protocol counts.
Counts none_of(const Config& config) {
  struct : AccessClient {
    void on_access_ready(CoreId, LineAddr, Cycle) override {}
  } client;
  NoConflictCheck conflicts;
  Timeline timeline;
  const auto mesh = make_mesh(config);
  const auto memory = make_memory_system(config, *mesh, conflicts, &timeline, &client);
  StatRegistry registry;
  memory->register_stats(registry);
  Counts counts;
  for (const Stat& stat : registry.stats()) counts[kind_of(stat.name)] = 0;
  return counts;
}
Energy energy_of_counts(const Config& config, const Counts& counts) {
  return energy_of(config, [&](std::string_view kind) -> std::optional<double> {
    const auto found = counts.find(kind);
    if (found == counts.end()) return std::nullopt;
    return found->second;
  });
}
Energy energy(const Config& config, const Counts& counts) {
  Counts all = none_of(config);
  for (const auto& [kind, count] : counts) all[kind] = count;
  return energy_of_counts(config, all);
}
/// pJ that one of these takes.
double one(const Config& config, EnergyPart part, const char* kind) {
  return energy(config, {{kind, 1}}).dynamic_of(part) * 1000;
}

TEST(ArrayEnergy, FitsTheCachesOfThePublication) {
  // ISSCC 2014: 8 KiB 10 pJ, 32 KiB 20 pJ, 1 MiB 100 pJ.
  for (const auto& [kib, pj] : {std::pair{8.0, 10.0}, {32.0, 20.0}, {1024.0, 100.0}})
    EXPECT_NEAR((ArrayEnergy{3.4, kib * 1024}.read_pj(64)), pj, pj / 10) << kib;
}

TEST(ArrayEnergy, GrowsWithTheRootOfCapacityAndOfWiderRows) {
  const ArrayEnergy array{1, 16 << 10};
  EXPECT_DOUBLE_EQ(array.read_pj(64), 4);
  EXPECT_DOUBLE_EQ(array.read_pj(256), 8);
  EXPECT_DOUBLE_EQ(array.read_pj(32), 4) << "no less than a word";
  EXPECT_DOUBLE_EQ(array.write_pj(64), 4.4);
  EXPECT_DOUBLE_EQ((ArrayEnergy{1, 64 << 10}.read_pj(64)), 8);
}

TEST(EnergyModel, AnL1TakesAWordAnAccessAndALineAFill) {
  const Config c = small("mesi");
  for (const char* cache : {"l1i", "l1d"}) {
    const std::string prefix = std::string("core.*.") + cache;
    for (const char* access : {".hits", ".misses", ".uncounted"})
      EXPECT_DOUBLE_EQ(one(c, EnergyPart::l1, (prefix + access).c_str()), 4) << access;
    EXPECT_DOUBLE_EQ(one(c, EnergyPart::l1, (prefix + ".fills").c_str()), 4 * kRootOf8 * 1.1);
    EXPECT_DOUBLE_EQ(one(c, EnergyPart::l1, (prefix + ".lines_read").c_str()), 4 * kRootOf8);
    // 256 tags of 4 bytes are 1 KiB; a set has 8 of them, 256 bits.
    EXPECT_DOUBLE_EQ(one(c, EnergyPart::l1, (prefix + ".probes").c_str()), 2);
  }
  // Stores and atomics are accesses already: a write takes a tenth more.
  const Energy store = energy(c, {{"core.*.l1d.hits", 1}, {"core.*.stores", 1}});
  EXPECT_DOUBLE_EQ(store.dynamic_of(EnergyPart::l1) * 1000, 4.4);
  const Energy atomic = energy(c, {{"core.*.l1d.hits", 1}, {"core.*.atomics", 1}});
  EXPECT_DOUBLE_EQ(atomic.dynamic_of(EnergyPart::l1) * 1000, 4.4);
}

TEST(EnergyModel, AnL2AndASliceTakeTagsALookUpAndALineADatum) {
  const Config c = small("mesi");
  // L2: 1024 tags, 4 KiB, 8 of them 256 bits: 2 x 2. Data: 64 KiB, 8.
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::l2, "tile.*.l2.lookups"), 4);
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::l2, "tile.*.l2.reads"), 8 * kRootOf8);
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::l2, "tile.*.l2.writes"), 8 * kRootOf8 * 1.1);
  // Slice: 4096 tags, 16 KiB, 16 of them 512 bits. Data: 256 KiB, 16.
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::llc, "tile.*.llc.lookups"), 4 * kRootOf8);
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::llc, "tile.*.llc.reads"), 16 * kRootOf8);
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::llc, "tile.*.llc.writes"), 16 * kRootOf8 * 1.1);
}

TEST(EnergyModel, ABankTakesWhatAnArrayOfItsSizeDoesAndAllBanksLeak) {
  Config mesi = small("mesi"), flask = small("flask");
  for (Config* c : {&mesi, &flask}) c->llc.banks = 4, c->energy.leakage_mw_per_mib = 1;
  // A quarter of each array, so half of what an access takes (AnL2AndASlice..., ADirectoryTakes...).
  EXPECT_DOUBLE_EQ(one(mesi, EnergyPart::llc, "tile.*.llc.lookups"), 2 * kRootOf8);
  EXPECT_DOUBLE_EQ(one(mesi, EnergyPart::llc, "tile.*.llc.reads"), 8 * kRootOf8);
  EXPECT_DOUBLE_EQ(one(mesi, EnergyPart::directory, "tile.*.directory.rows_read"), std::sqrt(8.0));
  EXPECT_DOUBLE_EQ(one(flask, EnergyPart::directory, "tile.*.directory.rows_read"), 1);
  EXPECT_DOUBLE_EQ(one(flask, EnergyPart::filter, "tile.*.filter.rows_read"), 1);
  EXPECT_DOUBLE_EQ(one(mesi, EnergyPart::l2, "tile.*.l2.reads"), 8 * kRootOf8) << "an L2 has no banks";
  const auto nj = [](double kib) { return kib / 1024 * 1000; };
  EXPECT_DOUBLE_EQ(energy(mesi, {{"chip.cycles", 1e6}}).leakage_of(EnergyPart::llc), nj(272));
  EXPECT_DOUBLE_EQ(energy(flask, {{"chip.cycles", 1e6}}).leakage_of(EnergyPart::filter), nj(8));
}

TEST(EnergyModel, ADirectoryTakesARowOfAWay) {
  // mesi: 8 bytes beside each of 4096 tags, 32 KiB.
  const Config mesi = small("mesi");
  EXPECT_DOUBLE_EQ(one(mesi, EnergyPart::directory, "tile.*.directory.rows_read"), std::sqrt(32.0));
  EXPECT_DOUBLE_EQ(one(mesi, EnergyPart::directory, "tile.*.directory.rows_written"), std::sqrt(32.0) * 1.1);
  // 1024 lines of an L2: 128 rows in each of 8 ways, 2 KiB; a row is 128 bits: sqrt(2) x sqrt(2).
  for (const char* protocol : {"sparse", "mosaic", "flask"}) {
    const Config c = small(protocol);
    EXPECT_DOUBLE_EQ(one(c, EnergyPart::directory, "tile.*.directory.rows_read"), 2) << protocol;
    EXPECT_DOUBLE_EQ(one(c, EnergyPart::directory, "tile.*.directory.rows_written"), 2.2) << protocol;
  }
  EXPECT_DOUBLE_EQ(one(small("flask"), EnergyPart::filter, "tile.*.filter.rows_read"), 2);
  EXPECT_DOUBLE_EQ(one(small("flask"), EnergyPart::filter, "tile.*.filter.rows_written"), 2.2);
}

TEST(EnergyModel, AProtocolHasTheDirectoryThatItsStatisticsTellOf) {
  // Whatever the protocol's name is: 32 KiB beside the tags of the slice, or 8 ways of 2 KiB, or none.
  const auto leakage = [](const Counts& counts) {
    Config c = small("tokenb");
    c.energy.leakage_mw_per_mib = 1;
    Counts all = counts;
    all["chip.cycles"] = 1e6;
    return energy_of_counts(c, all).leakage_of(EnergyPart::directory) / 1000 * 1024;
  };
  EXPECT_EQ(leakage({}), 0);
  EXPECT_DOUBLE_EQ(leakage({{"tile.*.directory.rows_read", 0}}), 32);
  EXPECT_DOUBLE_EQ(leakage({{"tile.*.directory.rows_read", 0}, {"tile.*.directory.hits", 0}}), 16);
}

TEST(EnergyModel, CapacityAndWaysOfTheDirectoryCount) {
  Config c = small("sparse");
  c.coherence.capacity = 0.25;  // 32 rows a way, 512 bytes
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::directory, "tile.*.directory.rows_read"), 1);
  c.coherence.ways = 2;  // 128 rows
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::directory, "tile.*.directory.rows_read"), 2);
}

TEST(EnergyModel, FlitsTakeWhatTheirBytesDo) {
  Config c = small("mesi");
  for (const char* direction : {"east", "west", "south", "north"})
    EXPECT_DOUBLE_EQ(
        one(c, EnergyPart::network, (std::string("tile.*.link.") + direction + ".flits").c_str()), 1);
  c.net.link_bytes = 32;
  EXPECT_DOUBLE_EQ(one(c, EnergyPart::network, "tile.*.link.east.flits"), 2);
}

TEST(EnergyModel, LeakageIsOfCapacityAndTime) {
  // A millisecond at 1 mW a MiB is 1000 nJ a MiB; tags make a cache a sixteenth larger.
  const auto of = [](const char* protocol) {
    Config c = small(protocol);
    c.energy.leakage_mw_per_mib = 1;
    return energy(c, {{"chip.cycles", 1e6}});
  };
  const auto nj = [](double kib) { return kib / 1024 * 1000; };
  const Energy mesi = of("mesi");
  EXPECT_DOUBLE_EQ(mesi.leakage_of(EnergyPart::l1), nj(34));
  EXPECT_DOUBLE_EQ(mesi.leakage_of(EnergyPart::l2), nj(68));
  EXPECT_DOUBLE_EQ(mesi.leakage_of(EnergyPart::llc), nj(272));
  EXPECT_DOUBLE_EQ(mesi.leakage_of(EnergyPart::directory), nj(32));
  EXPECT_EQ(mesi.leakage_of(EnergyPart::filter), 0);
  EXPECT_DOUBLE_EQ(of("sparse").leakage_of(EnergyPart::directory), nj(16));
  EXPECT_DOUBLE_EQ(of("flask").leakage_of(EnergyPart::directory), nj(8));
  EXPECT_DOUBLE_EQ(of("flask").leakage_of(EnergyPart::filter), nj(8));
  EXPECT_EQ(of("tokenb").leakage_of(EnergyPart::directory), 0);
}

/// Something of everything.
Counts busy() {
  Counts counts{{"chip.cycles", 5000}, {"mem.*.reads", 7}, {"mem.*.writes", 3}, {"core.*.stores", 11}};
  double n = 100;
  for (const char* kind :
       {"core.*.l1i.hits", "core.*.l1d.hits", "core.*.l1d.misses", "core.*.l1d.fills", "tile.*.l2.lookups",
        "tile.*.l2.reads", "tile.*.l2.writes", "tile.*.llc.lookups", "tile.*.llc.reads", "tile.*.llc.writes",
        "tile.*.directory.rows_read", "tile.*.directory.rows_written", "tile.*.filter.rows_read",
        "tile.*.filter.rows_written", "tile.*.link.east.flits"})
    counts[kind] = n += 13;
  return counts;
}

TEST(EnergyModel, PartsSumToTheTotalAndMemoryIsApart) {
  Config c = small("flask");
  c.energy = {};
  const Energy e = energy(c, busy());
  double sum = 0;
  for (const EnergyStat& stat : energy_stats(e))
    if (stat.name.ends_with(".dynamic") || stat.name.ends_with(".leakage")) sum += stat.value;
  EXPECT_DOUBLE_EQ(e.total(), sum);
  EXPECT_DOUBLE_EQ(e.memory, 10 * 20);
  EXPECT_DOUBLE_EQ(e.seconds, 5e-6);
  EXPECT_DOUBLE_EQ(e.edp(), e.total() * 5e-6);
}

TEST(EnergyModel, ADoubledKeyDoublesItsPartAndNoOther) {
  Config c = small("flask");
  c.energy = {};
  const Energy before = energy(c, busy());
  const auto doubled = [&](double EnergySection::*key) {
    Config d = c;
    d.energy.*key *= 2;
    return energy(d, busy());
  };
  const Energy sram = doubled(&EnergySection::sram_pj), flit = doubled(&EnergySection::flit_hop_pj),
               leakage = doubled(&EnergySection::leakage_mw_per_mib),
               memory = doubled(&EnergySection::memory_nj);
  for (unsigned p = 0; p < kEnergyParts; ++p) {
    const bool is_network = static_cast<EnergyPart>(p) == EnergyPart::network;
    EXPECT_GT(before.dynamic[p], 0);
    EXPECT_DOUBLE_EQ(sram.dynamic[p], before.dynamic[p] * (is_network ? 1 : 2));
    EXPECT_DOUBLE_EQ(flit.dynamic[p], before.dynamic[p] * (is_network ? 2 : 1));
    EXPECT_DOUBLE_EQ(leakage.dynamic[p], before.dynamic[p]);
    EXPECT_DOUBLE_EQ(sram.leakage[p], before.leakage[p]);
    EXPECT_DOUBLE_EQ(leakage.leakage[p], before.leakage[p] * 2);
  }
  EXPECT_DOUBLE_EQ(memory.memory, before.memory * 2);
  EXPECT_DOUBLE_EQ(memory.total(), before.total());
}

TEST(EnergyModel, AFilterThatIsNoHardwareTakesNothing) {
  for (const char* kind : {"exact", "none"}) {
    Config c = small("flask");
    c.energy = {};
    c.coherence.filter = kind;
    const Energy e = energy(c, busy());
    EXPECT_EQ(e.dynamic_of(EnergyPart::filter), 0);
    EXPECT_EQ(e.leakage_of(EnergyPart::filter), 0);
  }
}

}  // namespace
}  // namespace rubato::chip
