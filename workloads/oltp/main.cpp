// oltp: an order-entry database with the five transactions of TPC-C, in place of DB2 (FLASK, Sec. V-B;
// K83).
// SPDX-License-Identifier: MIT
#include <barrier>
#include <cstdio>
#include <memory>
#include <vector>

#include "workloads/common/workload.hpp"
#include "workloads/oltp/session.hpp"

namespace {

using namespace rubato::workloads;        // NOLINT
using namespace rubato::workloads::oltp;  // NOLINT

struct Options {
  WorkloadOptions common{.threads = 16, .warm = 200, .work = 390, .seed = 1, .verify = false};
  Sizes sizes;
  Chances chances{.remote = 15, .local = 95};
};

void run(const Options& o) {
  Database db(o.sizes, o.common.seed);
  std::vector<std::unique_ptr<Session>> sessions(o.common.threads);
  std::barrier loaded(static_cast<std::ptrdiff_t>(o.common.threads));
  run_in_region(o.common, [&](unsigned thread, std::uint64_t units, bool is_warm) {
    if (is_warm) {  // a thread fills its own warehouses, so that their lines are its own at first
      if (thread == 0) db.load_items();
      for (unsigned w = thread; w < o.sizes.warehouses; w += o.common.threads) db.load(w);
      sessions[thread] = std::make_unique<Session>(db, o.chances, thread, o.common.seed + 1000 + thread);
      loaded.arrive_and_wait();
    }
    run_transactions(*sessions[thread], units);
  });
  std::uint64_t commits = 0, rolled_back = 0, reply = 0;
  for (const auto& s : sessions) {
    for (const std::uint64_t count : s->commits) commits += count;
    rolled_back += s->rolled_back;
    reply += s->reply.sum();
  }
  std::printf("%llu transactions committed, %llu rolled back; replies %016llx\n",
              static_cast<unsigned long long>(commits), static_cast<unsigned long long>(rolled_back),
              static_cast<unsigned long long>(reply));
  if (!o.common.verify) return;
  verify(db, sessions);
  std::puts("verified");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  rubato::CommandLine line("oltp", "The five transactions of TPC-C on a database in memory.");
  add_workload_options(line, o.common, "transactions of each thread");
  line.add_option("--warehouses", o.sizes.warehouses, "Warehouses (default 16)").range(1U, 256U);
  line.add_option("--customers", o.sizes.customers,
                  "Customers of each of a warehouse's ten districts (default 120)")
      .range(3U, 3000U);
  line.add_option("--items", o.sizes.items, "Items, each in every warehouse's stock (default 4000)")
      .range(1U, 100'000U);
  line.add_option("--remote", o.chances.remote,
                  "Percent of payers and suppliers that are of another warehouse (default 15)")
      .range(0U, 100U);
  line.add_option("--local", o.chances.local,
                  "Percent of transactions of a warehouse that is the thread's own; the others are of any "
                  "(default 95)")
      .range(0U, 100U);
  return workload_main(
      "oltp", line, [&] { run(o); }, argc, argv);
}
