// SPDX-License-Identifier: MIT
// hashjoin: options, input, result. `hashjoin --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage
// or input.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "apps/common/check_json.hpp"
#include "apps/common/options.hpp"
#include "apps/hashjoin/join.hpp"

namespace rubato::apps {
namespace {

enum class Variant { tasks, threads, tbb, serial };

struct Options {
  double scale = 0.01;
  std::string customers, orders;
  std::uint64_t seed = 1;
  std::uint32_t records_per_task = 4096;
  std::uint32_t parts = 0;  // 0: one a core
  std::uint32_t records_ahead = JoinOptions{}.records_ahead;
  Variant variant = Variant::tasks;
  bool verify = false, is_json = false;
};

void declare(CommandLine& line, Options& o) {
  const auto scale =
      line.add_option("--scale", o.scale,
                      "TPC-H scale factor of generated tables: 150,000 customers and 1,500,000 "
                      "orders each (default 0.01)");
  scale.type_name("FACTOR");
  const auto customers =
      line.add_option("--customer", o.customers, "customer.tbl as dbgen writes it, plain or gzip");
  const auto orders = line.add_option("--orders", o.orders, "orders.tbl as dbgen writes it, plain or gzip");
  customers.needs(orders).excludes(scale).type_name("FILE");
  orders.needs(customers).type_name("FILE");
  line.add_option("--seed", o.seed, "Seed of the generated tables (default 1)")
      .check(whole_number)
      .type_name("N");
  add_number(line, "--records-per-task", o.records_per_task, 1, 1u << 24,
             "Records that a task handles (default 4096)");
  add_number(
      line, "--partitions", o.parts, 1, 1024,
      "Partitions, each with a hash table of its own; threads of the other variants (default: one a core)");
  add_number(
      line, "--records-ahead", o.records_ahead, 1, 1u << 31,
      "Records sent to a partition ahead of its tasks (default 131072); those of 2 tasks always, and some "
      "4096 more");
  line.add_choice<Variant>(
      "--variant", o.variant,
      {{"tasks", Variant::tasks},
       {"threads", Variant::threads},
       {"tbb", Variant::tbb},
       {"serial", Variant::serial}},
      "What joins: tasks (default), or for comparison plain threads, oneTBB, or one thread with a "
      "standard hash table");
  line.add_flag("--verify", o.verify, "Compare the result with a serial join; exit 1 if it differs");
  line.add_flag("--json", o.is_json, "Print the result, with that of --verify, as one JSON object");
  line.footer(
      "Examples:\n"
      "  hashjoin --scale 0.1 --verify\n"
      "  hashjoin --scale 10 --records-per-task 128\n"
      "  hashjoin --customer customer.tbl --orders orders.tbl --variant threads\n"
      "Prints the pairs of orders and customers, the sum of the orders' prices, a digest of all pairs, and "
      "the time of "
      "the join.");
}

JoinResult join(const TpchTables& tables, const Options& o) {
  const JoinOptions options{o.records_per_task,
                            o.parts != 0 ? o.parts : std::max(1u, std::thread::hardware_concurrency()),
                            o.records_ahead};
  switch (o.variant) {
    case Variant::threads:
      return join_threads(tables, options);
    case Variant::serial:
      return serial_region([&] { return join_serial(tables); });
    case Variant::tbb:
#if defined(RUBATO_HAS_TBB)
      return join_tbb(tables, options);
#else
      throw InputError("--variant tbb: this program was built without oneTBB (package libtbb-dev)");
#endif
    case Variant::tasks:
      break;
  }
  return join_tasks(tables, options);
}

/// The difference from a serial join, in words; "" if there is none.
std::string difference(const JoinResult& result, const TpchTables& tables) {
  const JoinResult expected = join_serial(tables);
  if (result.matches() != expected.matches())
    return std::to_string(result.matches()) + " pairs, but " + std::to_string(expected.matches()) +
           " were expected";
  return result == expected ? "" : "the pairs are as many as expected, but not the same";
}

void print_lines(const TpchTables& tables, const JoinResult& result, double seconds) {
  const std::uint64_t revenue = result.revenue();
  std::printf("customers: %zu\norders: %zu\n", tables.customers.size(), tables.orders.size());
  std::printf("pairs: %" PRIu64 "\nrevenue: %" PRIu64 ".%02" PRIu64 "\ndigest: %016" PRIx64 "\n",
              result.matches(), revenue / 100, revenue % 100, result.digest());
  std::printf("time: %.6f s\n", seconds);
}

void print_json(const TpchTables& tables, const JoinResult& result, double seconds,
                const std::optional<std::string>& wrong) {
  std::printf("{\"customers\": %zu, \"orders\": %zu, \"pairs\": %" PRIu64 ", \"revenue_cents\": %" PRIu64
              ", \"digest\": \"%016" PRIx64 "\", \"seconds\": %.6f",
              tables.customers.size(), tables.orders.size(), result.matches(), result.revenue(),
              result.digest(), seconds);
  print_check_json(wrong);
  std::printf("}\n");
}

int run_hashjoin(const Options& o) {
  const TpchTables tables =
      o.customers.empty() ? generate_tpch(o.scale, o.seed) : read_tpch(o.customers, o.orders);
  const auto started = std::chrono::steady_clock::now();
  const JoinResult result = join(tables, o);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (!o.is_json) print_lines(tables, result, seconds);
  std::optional<std::string> wrong;
  if (o.verify) wrong = difference(result, tables);
  const bool has_passed = !wrong || wrong->empty();
  if (o.is_json) {
    print_json(tables, result, seconds, wrong);
    return has_passed ? 0 : 1;
  }
  if (!has_passed) std::printf("%s\n", wrong->c_str());
  return o.verify ? report_check(has_passed) : 0;
}

constexpr Application<Options> kApplication{
    .name = "hashjoin",
    .description = "Hash join of TPC-H's customer and orders, a task for every few records.",
    .declare = declare,
    .run = run_hashjoin};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
