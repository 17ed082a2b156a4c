// SPDX-License-Identifier: MIT
// ycsb: options, load, run, result. `ycsb --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or
// input.
#include <unistd.h>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>

#include "apps/common/options.hpp"
#include "apps/common/output_file.hpp"
#include "apps/ycsb/engine_setup.hpp"
#include "apps/ycsb/numa_placement.hpp"
#include "apps/ycsb/summary.hpp"
#include "apps/ycsb/variant.hpp"
#include "apps/ycsb/verify.hpp"

namespace rubato::apps::ycsb {
namespace {

enum class Load { bulk, insert };

struct Options {
  WorkloadOptions workload;
  bool has_distribution = false, has_key_order = false;
  VariantName variant = VariantName::tasks;
  Sync sync = Sync::automatic;
  Load load = Load::bulk;
  unsigned workers = 0;  // 0: as many as the engine chooses
  unsigned inflight = 500;
  unsigned rounds = 1;
  bool verify = false, is_json = false;
  std::string history, numa;
};

void declare(CommandLine& line, Options& o) {
  line.add_choice<char>(
      "--workload", o.workload.name,
      {{"A", 'A'}, {"B", 'B'}, {"C", 'C'}, {"D", 'D'}, {"E", 'E'}, {"F", 'F'}, {"churn", kChurn}},
      "YCSB's workload: A half updates, B 5 % updates, C lookups (default), D 5 % inserts, E scans and "
      "5 % inserts, F half increments; or churn: 40 % inserts of the next record, 40 % removals of the "
      "oldest, 15 % lookups and 5 % scans between");
  add_number(line, "--records", o.workload.records, 1, kFirstWritten / 2,
             "Pairs in the tree before the run (default 100000)");
  add_number(line, "--operations", o.workload.operations, 1, kFirstWritten / 2,
             "Requests of the run (default 1000000)");
  line.add_choice<Distribution>(
          "--distribution", o.workload.distribution,
          {{"zipfian", Distribution::zipfian},
           {"latest", Distribution::latest},
           {"uniform", Distribution::uniform}},
          "Which records are asked for (default: latest for D, uniform for churn, else zipfian "
          "with 0.99)")
      .marks(o.has_distribution);
  line.add_choice<KeyOrder>(
          "--keys", o.workload.key_order, {{"hashed", KeyOrder::hashed}, {"ordered", KeyOrder::ordered}},
          "Keys of the records: scattered over 64 bits (default), or 0, 1, 2, ... (default for churn)")
      .marks(o.has_key_order);
  line.add_option("--seed", o.workload.seed, "Seed of the requests (default 1)")
      .check(whole_number)
      .type_name("N");
  line.add_choice<VariantName>(
      "--variant", o.variant,
      {{"tasks", VariantName::tasks},
       {"threads", VariantName::threads},
       {"interleaved", VariantName::interleaved},
       {"tbb-step", VariantName::tbb_step},
       {"tbb-lookup", VariantName::tbb_lookup},
       {"olc", VariantName::olc},
       {"masstree", VariantName::masstree},
       {"bwtree", VariantName::bwtree}},
      "How the index works: tasks (default); for comparison the same tree on threads, on threads with 16 "
      "interleaved lookups, as a oneTBB task a visit, as a oneTBB task an operation; other indexes on "
      "threads: a B+-tree with optimistic lock coupling (olc), Masstree (masstree), "
      "a Bw-tree (bwtree)");
  line.add_choice<Sync>(
      "--sync", o.sync,
      {{"spin", Sync::spin},
       {"rw", Sync::rw},
       {"optimistic", Sync::optimistic},
       {"scheduled", Sync::scheduled},
       {"speculative", Sync::speculative}},
      "How visits of one node are kept apart (default: tasks, what the runtime chooses; others, "
      "optimistic). scheduled: tasks only; speculative: oneTBB only");
  add_number(line, "--cores,--workers", o.workers, 1, 1024,
             "Threads that work (default: RUBATO_WORKERS, else one a CPU); more than CPUs only with "
             "RUBATO_OVERSUBSCRIBE=1");
  add_number(line, "--inflight", o.inflight, 1, 1u << 20,
             "Requests that each worker has under way, or takes at once (default 500)");
  line.add_choice<Load>("--load", o.load, {{"bulk", Load::bulk}, {"insert", Load::insert}},
                        "How the tree is filled: bottom-up (default), or by insert operations");
  line.add_option("--numa", o.numa,
                  "tasks only: where nodes of the tree lie, and their visits run: on all NUMA nodes in turn "
                  "(interleave), on that of the worker that makes them (local), on node N (node:N)")
      .type_name("interleave|local|node:N");
  add_number(line, "--rounds", o.rounds, 1, 1000,
             "Run the requests this often, print the fastest (default 1)");
  line.add_flag("--verify", o.verify,
                "Check keys, values, increments and the linearizability of every key; exit 1 if one fails");
  line.add_option("--history", o.history,
                  "With --verify: write every request with its times and answer to FILE")
      .type_name("FILE");
  line.add_flag("--json", o.is_json, "Print the result, with that of --verify, as one JSON object");
  line.footer(
      "Examples:\n"
      "  ycsb --workload A --records 1000000 --operations 10000000 --verify\n"
      "  ycsb --records 40000000 --operations 20000000 --distribution uniform --cores 2\n"
      "  ycsb --variant threads --sync rw --workload B\n"
      "  ycsb --workload churn --records 20000 --operations 10000000\n"
      "Prints requests a second and their latencies; with tasks also how much memory the tree took at most.");
}

/// Checks the options together. @throws InputError for those that exclude each other, and for a file that
/// cannot be written.
void check_combination(const Options& o) {
  const bool is_tbb = o.variant == VariantName::tbb_step || o.variant == VariantName::tbb_lookup;
  if (o.sync == Sync::scheduled && o.variant != VariantName::tasks) {
    throw InputError(
        "--sync scheduled is for --variant tasks: only the runtime can schedule visits of a node");
  }
  if (o.sync == Sync::speculative && !is_tbb) {
    throw InputError("--sync speculative is for --variant tbb-step and tbb-lookup: it is a mutex of oneTBB");
  }
  if (is_index(o.variant) && o.sync != Sync::automatic && o.sync != Sync::optimistic) {
    throw InputError("--variant " + name_of(o.variant) + " is optimistic by construction: leave --sync out");
  }
  if (!o.numa.empty() && o.variant != VariantName::tasks)
    throw InputError("--numa is for --variant tasks, whose nodes are resources: leave it out");
  if (!o.history.empty() && !o.verify) throw InputError("--history needs --verify");
  if (o.verify && o.rounds != 1) throw InputError("--verify checks one run: leave --rounds out");
  if (!o.history.empty()) OutputFile::check(o.history);
}

std::unique_ptr<Variant> make_variant(const Options& o, NumaPlacement* numa) {
  switch (o.variant) {
    case VariantName::tasks:
      return make_task_variant(numa);
    case VariantName::threads:
      return make_thread_variant(o.sync, false);
    case VariantName::interleaved:
      return make_thread_variant(o.sync, true);
    case VariantName::olc:
      return make_olc_variant();
    case VariantName::masstree:
      return make_masstree_variant();
    case VariantName::bwtree:
      return make_bwtree_variant();
    case VariantName::tbb_step:
    case VariantName::tbb_lookup:
      break;
  }
#if defined(RUBATO_HAS_TBB)
  return make_tbb_variant(o.sync, o.variant == VariantName::tbb_step);
#else
  throw InputError("--variant " +
                   std::string(o.variant == VariantName::tbb_step ? "tbb-step" : "tbb-lookup") +
                   ": this program was built without oneTBB (package libtbb-dev)");
#endif
}

/// A line that is overwritten, on terminals only.
class ProgressBar {
 public:
  explicit ProgressBar(std::uint64_t total)
      : total_(total), is_shown_(total >= 1'000'000 && isatty(2) != 0) {}
  ~ProgressBar() {
    if (is_shown_) std::fprintf(stderr, "\r%40s\r", "");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void operator()(std::uint64_t done) {
    const auto percent = static_cast<unsigned>(done * 100 / total_);
    if (!is_shown_ || percent == shown_) return;
    shown_ = percent;
    std::fprintf(stderr, "\rloading [%-20.*s] %3u %%", static_cast<int>(percent / 5), "####################",
                 percent);
  }

 private:
  std::uint64_t total_;
  bool is_shown_;
  unsigned shown_ = ~0u;
};

void load(Variant& variant, const Options& o, const RunOptions& run) {
  const KeySpace space(o.workload.key_order);
  const std::uint64_t records = o.workload.records;
  if (o.load == Load::bulk) {
    const std::vector<Key> keys = sorted_keys(space, records);
    ProgressBar progress(records);
    auto next = keys.begin();
    variant.bulk_load(
        records,
        [&] {
          const Key key = *next++;
          return leaf::Pair{key, space.record_of(key)};
        },
        std::ref(progress));
    return;
  }
  // In portions, so that the requests do not take more memory than the tree.
  constexpr std::uint64_t kPortion = 1'000'000;
  ProgressBar progress(records);
  for (std::uint64_t first = 0; first < records; first += kPortion) {
    const std::vector<Request> inserts = load_requests(space, first, std::min(records, first + kPortion));
    Recorder recorder(Recorder::Mode::sample, inserts.size());
    variant.run(inserts, RunOptions{run.workers, run.inflight, first}, recorder);
    progress(first);
  }
}

/// Fills in the workload's usual choices where the user made none.
Options with_usual_choices(Options o) {
  if (!o.has_distribution) o.workload.distribution = usual_distribution(o.workload.name);
  if (!o.has_key_order) o.workload.key_order = usual_key_order(o.workload.name);
  return o;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int run_ycsb(const Options& chosen) {
  check_combination(chosen);
  const Options o = with_usual_choices(chosen);
  const RunOptions run{set_up_engine(o.workers, o.sync), o.inflight};
  std::optional<NumaPlacement> numa;
  if (!o.numa.empty()) numa.emplace(o.numa);
  const std::unique_ptr<Variant> variant = make_variant(o, numa ? &*numa : nullptr);
  const double load_began = seconds_now();
  load(*variant, o, run);
  const double load_seconds = seconds_now() - load_began;
  const std::vector<Request> requests = make_requests(o.workload);

  Summary summary{.workload = o.workload,
                  .variant = o.variant,
                  .sync = o.sync,
                  .workers = run.workers,
                  .inflight = run.inflight,
                  .load_began = load_began,
                  .load_seconds = load_seconds};
  Recorder recorder(o.verify ? Recorder::Mode::history : Recorder::Mode::sample, requests.size());
  for (unsigned round = 0; round < o.rounds; ++round) {
    const double began = seconds_now();
    variant->run(requests, run, recorder);
    const double seconds = seconds_now() - began;
    if (round != 0 && seconds >= summary.seconds) continue;
    summary.began = began;
    summary.seconds = seconds;
  }
  summary.latencies = recorder.latencies();
  summary.memory = variant->memory_peaks();
  if (numa) {
    summary.numa_bytes = numa->bytes();
    summary.numa_visits = numa->visits();
  }
  if (!o.is_json) print_lines(summary);
  if (!o.history.empty()) write_history(o.history, requests, recorder);
  if (o.verify) summary.wrong = verify(o.workload, requests, recorder, *variant);
  const bool has_passed = !o.verify || summary.wrong->empty();
  if (o.is_json) {
    print_json(summary);
    return has_passed ? 0 : 1;
  }
  if (!has_passed) std::printf("%s\n", summary.wrong->c_str());
  return o.verify ? report_check(has_passed) : 0;
}

constexpr Application<Options> kApplication{
    .name = "ycsb",
    .description = "Key-value requests of YCSB on a B-link tree made of tasks (MxTasking, Sec. 5 and 6).",
    .declare = declare,
    .run = run_ycsb};

}  // namespace
}  // namespace rubato::apps::ycsb

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::ycsb::kApplication, argc, argv);
}
