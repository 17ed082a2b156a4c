// midtier: the business logic of a wholesaler on objects with a copying collection, a warehouse a thread, in
// place of SPECjbb (FLASK, Sec. V-B; K83).
// SPDX-License-Identifier: MIT
#include <barrier>
#include <cstdio>

#include "workloads/common/workload.hpp"
#include "workloads/midtier/company.hpp"

int main(int argc, char** argv) {
  using namespace rubato::workloads;  // NOLINT
  WorkloadOptions o{.threads = 16, .warm = 800, .work = 720, .seed = 1, .verify = false};
  midtier::Sizes sizes;
  rubato::CommandLine line("midtier",
                           "A warehouse a thread: trees of objects, allocation and copying collection.");
  add_workload_options(line, o, "transactions of each thread");
  line.add_option("--customers", sizes.customers,
                  "Customers of each warehouse, and orders that it keeps (default 120)")
      .range(1U, 100'000U);
  line.add_option("--items", sizes.items, "Items (default 2000)").range(1U, 1'000'000U);
  line.add_option("--room", sizes.room_kib,
                  "KiB of each half of a warehouse's heap beside what lives (default 256)")
      .range(16U, 1'048'576U);
  line.add_option("--cross", sizes.cross,
                  "Percent of order lines and payments for another warehouse (default 1)")
      .range(0U, 100U);
  return workload_main(
      "midtier", line,
      [&] {
        midtier::Company company(sizes, o.threads, o.seed);
        std::barrier opened(static_cast<std::ptrdiff_t>(o.threads));
        run_in_region(o, [&](unsigned thread, std::uint64_t transactions, bool is_warm) {
          if (is_warm) {
            company.open(thread);
            opened.arrive_and_wait();
          }
          company.warehouse(thread).run(transactions);
        });
        std::uint64_t collections = 0, screens = 0;
        for (unsigned w = 0; w < o.threads; ++w) {
          collections += company.warehouse(w).collections();
          screens += company.warehouse(w).screens();
        }
        const midtier::Totals& totals = company.totals();
        std::printf("%llu orders, %llu payments, %llu screens, %llu collections\n",
                    static_cast<unsigned long long>(totals.orders),
                    static_cast<unsigned long long>(totals.payments),
                    static_cast<unsigned long long>(screens), static_cast<unsigned long long>(collections));
        if (!o.verify) return;
        company.verify();
        std::puts("verified");
      },
      argc, argv);
}
