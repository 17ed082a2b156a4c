// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include "apps/hashjoin/customer_table.hpp"
#include "apps/hashjoin/join.hpp"

namespace rubato::apps {

JoinResult join_tbb(const TpchTables& tables, const JoinOptions& options) {
  using Range = tbb::blocked_range<std::size_t>;
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, options.parts);
  tbb::task_arena arena(static_cast<int>(options.parts));
  SharedTable table(tables.customers.size());
  tbb::enumerable_thread_specific<JoinResult> results;
  // The simple partitioner goes down to the grain everywhere, as the tasks do.
  arena.execute([&] {
    tbb::parallel_for(
        Range(0, tables.customers.size(), options.records_per_task),
        [&](const Range& r) {
          for (std::size_t i = r.begin(); i < r.end(); ++i) table.insert(tables.customers[i]);
        },
        tbb::simple_partitioner());
    tbb::parallel_for(
        Range(0, tables.orders.size(), options.records_per_task),
        [&](const Range& r) {
          results.local().add(probe(table.slots(), &tables.orders[r.begin()], r.size()));
        },
        tbb::simple_partitioner());
  });
  JoinResult result;
  results.combine_each([&](const JoinResult& part) { result.add(part); });
  return result;
}

}  // namespace rubato::apps
