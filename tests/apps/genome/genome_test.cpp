// genome by tasks against the serial assembly; that one finds genes again, and a small one is done by hand.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "apps/genome/assembly.hpp"
#include "apps/genome/genome_tasks.hpp"

namespace rubato::apps::genome {
namespace {

/// The pieces of a text at the given places.
std::vector<Segment> pieces_at(const std::string& text, std::uint64_t length,
                               const std::vector<std::size_t>& places) {
  const std::vector<Segment> all = all_segments(text, length);
  std::vector<Segment> pieces;
  for (const std::size_t place : places) pieces.push_back(all.at(place));
  return pieces;
}

TEST(SerialAssembly, LinksByTheLongestOverlapFirst) {
  // acgt, gtta, ttac: gtta -> ttac by 3, acgt -> gtta by 2; 'ac' would continue ttac by acgt, a ring.
  const Assembly found = assemble_serially(pieces_at("acgttac", 4, {3, 0, 2, 0}), 4);
  EXPECT_EQ(found.unique, 3u);
  EXPECT_EQ(found.chains, 1u);
  EXPECT_EQ(found.gene, "acgttac");  // of two overlaps of 2, that behind the least number, ttac, is cut
}

TEST(SerialAssembly, CutsARingAtItsShortestOverlap) {
  // acgg -> cgga -> ggac by 3; ggac -> acgg by 2.
  const Assembly found = assemble_serially(pieces_at("acggac", 4, {2, 1, 0}), 4);
  EXPECT_EQ(found.gene, "acggac");
  EXPECT_EQ(found.chains, 1u);
}

TEST(SerialAssembly, PutsWhatDoesNotOverlapOneBehindAnother) {
  const Assembly found = assemble_serially(pieces_at("aaccggtt", 2, {6, 0, 6}), 2);
  EXPECT_EQ(found.gene, "ttaa");
  EXPECT_EQ(found.unique, 2u);
  EXPECT_EQ(found.chains, 2u);
}

TEST(SerialAssembly, FindsGenesAgain) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::string gene = random_gene(600, seed);
    const Assembly found = assemble_serially(random_pieces(gene, 24, 100, seed), 24);
    EXPECT_EQ(found.gene, gene);
    EXPECT_EQ(found.chains, 1u);
  }
}

TEST(Genome, AgreesWithTheSerialAssemblyForEveryTypeAndSeed) {
  struct Case {
    std::uint64_t gene, length, count, buckets;
  };
  // Enough segments; hardly any; so short ones that many ends are equal; the same with many doubles, of which
  // the first counts; all in one bucket.
  for (const Case& c : {Case{256, 16, 1000, 256}, Case{300, 32, 1, 300}, Case{900, 8, 50, 900},
                        Case{900, 8, 5000, 900}, Case{64, 8, 60, 1}}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      serial::set_seed(seed);
      const std::vector<Segment> segments = random_pieces(random_gene(c.gene, seed), c.length, c.count, seed);
      const Assembly expected = assemble_serially(segments, c.length);
      for (const TaskType type : {spec, nonspec, mayspec})
        EXPECT_EQ(assemble_by_tasks(segments, c.length, c.buckets, type), expected) << c.gene << " " << seed;
    }
  }
}

TEST(Genome, APieceThatContinuesItselfIsLinkedWithAnother) {
  const std::vector<Segment> pieces = pieces_at("aaaaaaaac", 8, {0, 1, 0});
  const Assembly found = assemble_by_tasks(pieces, 8, 4, mayspec);
  EXPECT_EQ(found.gene, "aaaaaaaac");
  EXPECT_EQ(found.chains, 1u);
  EXPECT_EQ(found, assemble_serially(pieces, 8));
}

}  // namespace
}  // namespace rubato::apps::genome
