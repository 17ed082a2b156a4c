// SPDX-License-Identifier: MIT
// kvstore: options, input, result. `kvstore --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage, or
// a file that cannot be used.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "apps/common/options.hpp"
#include "apps/kvstore/kvstore_tasks.hpp"

namespace rubato::apps::kvstore {
namespace {

struct Options {
  Size size;
  Mix mix;
  Variant variant = Variant::capsule;
  std::string file;
  bool is_ordered = false;
  TaskOptions tasks;
};

void declare(CommandLine& line, Options& o) {
  add_number(line, "--queries", o.mix.queries, 0, 1 << 28, "How many queries (default 4096)");
  add_number(line, "--tuples", o.size.tuples, 1, 1 << 24,
             "How many tuples of 4 KB (default 1024; published: 65536)");
  add_number(line, "--frames", o.size.frames, 2, 1 << 24,
             "Frames that hold a tuple in memory (default: for 15 of 16 tuples, and the free ones)");
  add_number(line, "--free", o.size.free, 1, 1 << 20,
             "Frames that are free at first, and I/O buffers (default 32)");
  add_number(line, "--writes", o.mix.write_percent, 0, 100, "Percent of the queries that write (default 20)");
  line.add_choice("--distribution", o.mix.distribution,
                  {{"uniform", Distribution::uniform}, {"zipfian", Distribution::zipfian}},
                  "Which tuples are asked for: all alike, or some much more often (default uniform)");
  line.add_choice(
      "--variant", o.variant,
      {{"capsule", Variant::capsule}, {"promote", Variant::promote}, {"memory", Variant::memory}},
      "How a query gets a tuple from the disk: in a capsule, or promoted, alone; or all tuples are in "
      "memory (default capsule)");
  line.add_flag("--ordered", o.is_ordered, "Queries take effect in the order of their numbers");
  line.add_option("--file", o.file,
                  "The file of the tuples, which is made anew; on the chip it is on the simulated disk "
                  "(default: a file in memory)")
      .type_name("FILE");
  add_seed(line, o.mix.seed, "Seed of the queries (default 1)");
  add_verify_and_serial(
      line, o.tasks,
      {.verify = "Compare all tuples with those of a serial execution; exit 1 if one differs",
       .serial = "Execute the queries serially, no tasks, all tuples in memory, for comparison"});
  line.footer(
      "A query is a task, which is atomic. A tuple that is in no frame is read from the file, and another "
      "one\n"
      "is evicted. The published input is --tuples 65536.\n"
      "Examples:\n"
      "  kvstore --queries 1000 --verify\n"
      "  kvstore --variant promote --file /ssd/tuples\n"
      "Prints how many queries read and wrote, and a checksum of the versions of all tuples.");
}

Contents answers(const Options& o, const std::vector<Query>& queries, std::string& wrong) {
  if (o.tasks.is_serial) {
    std::vector<std::uint64_t> tuples = new_tuples(o.size.tuples);
    const Contents contents = serial_region([&] { return answer_serially(tuples, queries); });
    if (o.tasks.verify && contents != answer_serially(o.size.tuples, queries))
      wrong = "another serial execution left other versions";
    return contents;
  }
  Store store(o.size, o.variant, o.file);
  Contents contents = answer_by_tasks(store, queries, o.variant, o.is_ordered);
  if (o.tasks.verify) wrong = what_is_wrong(store, answer_serially(o.size.tuples, queries));
  return contents;
}

int run_kvstore(const Options& options) {
  Options o = options;
  o.mix.tuples = o.size.tuples;
  const std::vector<Query> queries = random_queries(o.mix);
  std::uint64_t writes = 0;
  for (const Query& query : queries) writes += query.writes ? 1 : 0;
  std::string wrong;
  const Contents contents = answers(o, queries, wrong);
  std::printf("queries: %zu\nwrites: %" PRIu64 "\nwrong reads: %" PRIu64 "\nchecksum: %016" PRIx64 "\n",
              queries.size(), writes, contents.wrong_reads, checksum(contents));
  if (!o.tasks.verify) return 0;
  if (!wrong.empty()) std::printf("%s\n", wrong.c_str());
  return report_check(wrong.empty() && contents.wrong_reads == 0);
}

constexpr Application<Options> kApplication{
    .name = "kvstore",
    .description = "A disk-backed key-value store: each query is one atomic task.",
    .declare = declare,
    .run = run_kvstore};

}  // namespace
}  // namespace rubato::apps::kvstore

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kvstore::kApplication, argc, argv);
}
