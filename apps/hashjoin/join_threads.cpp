// SPDX-License-Identifier: MIT
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "apps/common/morsels.hpp"
#include "apps/hashjoin/customer_table.hpp"
#include "apps/hashjoin/join.hpp"

namespace rubato::apps {
JoinResult join_threads(const TpchTables& tables, const JoinOptions& options) {
  SharedTable table(tables.customers.size());
  std::atomic<std::size_t> next_customer{0}, next_order{0};
  std::barrier built(options.parts);
  struct alignas(64) Line {
    JoinResult result;
  };
  std::vector<Line> results(options.parts);
  std::vector<std::jthread> threads;
  for (std::uint32_t t = 0; t < options.parts; ++t) {
    threads.emplace_back([&, t] {
      take_morsels(next_customer, tables.customers.size(), options.records_per_task,
                   [&](std::size_t begin, std::size_t end) {
                     for (std::size_t i = begin; i < end; ++i) table.insert(tables.customers[i]);
                   });
      built.arrive_and_wait();
      take_morsels(next_order, tables.orders.size(), options.records_per_task,
                   [&](std::size_t begin, std::size_t end) {
                     results[t].result.add(probe(table.slots(), &tables.orders[begin], end - begin));
                   });
    });
  }
  threads.clear();
  JoinResult result;
  for (const Line& line : results) result.add(line.result);
  return result;
}

}  // namespace rubato::apps
