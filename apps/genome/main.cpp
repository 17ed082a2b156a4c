// SPDX-License-Identifier: MIT
// genome: options, input, result. `genome --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <unordered_set>

#include "apps/common/options.hpp"
#include "apps/genome/assembly.hpp"
#include "apps/genome/genome_tasks.hpp"

namespace rubato::apps::genome {
namespace {

struct Options {
  std::uint64_t gene = 1024;
  std::uint64_t segment = 32;
  std::uint64_t segments = 16384;
  std::uint64_t seed = 1;
  TaskOptions tasks;
};

void declare(CommandLine& line, Options& o) {
  add_number(line, "--gene", o.gene, 16, 1 << 24, "Nucleotides of the gene (default 1024)");
  add_number(line, "--segment", o.segment, 8, kLongestSegment,
             "Nucleotides of a segment, 8 to 64 (default 32)");
  add_number(line, "--segments", o.segments, 1, 1 << 28,
             "Segments from random places (default 16384); more are added where the gene is not covered");
  add_seed(line, o.seed, "Seed of the gene and of the places (default 1)");
  add_task_options(
      line, o.tasks,
      {.verify = "Compare the gene with the one that a serial run puts together, and look for every "
                 "segment in it; exit 1 if anything differs",
       .serial = "Run only the serial algorithm, no tasks, for comparison"});
  line.footer(
      "Tasks remove segments that are doubles, link those of which one's end is another's beginning, by "
      "ever\n"
      "shorter overlaps, and read the gene from the links. The published input is --gene 4096 --segment 48\n"
      "--segments 1048576.\n"
      "Examples:\n"
      "  genome --gene 512 --segment 16 --segments 8192 --verify\n"
      "  genome --gene 4096 --segment 48 --segments 131072 --type spec\n"
      "Prints how many segments differ, in how many chains they end, and whether the gene was found again.");
}

/// Whether every segment is somewhere in the gene; names the first that is not.
bool check_segments(const std::vector<Segment>& segments, std::uint64_t length, const std::string& gene) {
  struct Hash {
    std::size_t operator()(const Segment& segment) const { return segment.hash(); }
  };
  std::unordered_set<Segment, Hash> there;
  for (const Segment& segment : all_segments(gene, length)) there.insert(segment);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (there.count(segments[i]) != 0) continue;
    std::printf("segment %zu is not in the gene\n", i);
    return false;
  }
  return true;
}

bool check(const Assembly& found, const Assembly& expected) {
  if (found == expected) return true;
  std::printf("%" PRIu64 " different segments in %" PRIu64 " chains of %zu nucleotides, but %" PRIu64
              " in %" PRIu64 " of %zu were expected%s\n",
              found.unique, found.chains, found.gene.size(), expected.unique, expected.chains,
              expected.gene.size(), found.gene == expected.gene ? "" : ", and other ones");
  return false;
}

int run_genome(const Options& o) {
  if (o.segment > o.gene) {
    throw InputError("--segment " + std::to_string(o.segment) + ": at most as long as the gene, " +
                     std::to_string(o.gene) + ", was expected");
  }
  const std::string gene = random_gene(o.gene, o.seed);
  const std::vector<Segment> segments = random_pieces(gene, o.segment, o.segments, o.seed);
  const Assembly found = o.tasks.is_serial
                             ? serial_region([&] { return assemble_serially(segments, o.segment); })
                             : assemble_by_tasks(segments, o.segment, o.gene, o.tasks.type);
  std::printf("segments: %zu, %" PRIu64 " of them different\nchains: %" PRIu64
              "\nnucleotides: %zu\ngene: %s\n",
              segments.size(), found.unique, found.chains, found.gene.size(),
              found.gene == gene ? "found again" : "another one");
  if (!o.tasks.verify) return 0;
  const bool passed =
      check(found, assemble_serially(segments, o.segment)) && check_segments(segments, o.segment, found.gene);
  return report_check(passed);
}

constexpr Application<Options> kApplication{
    .name = "genome",
    .description = "Gene sequencing as ordered tasks: a gene is put together from overlapping segments.",
    .declare = declare,
    .run = run_genome};

}  // namespace
}  // namespace rubato::apps::genome

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::genome::kApplication, argc, argv);
}
