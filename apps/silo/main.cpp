// SPDX-License-Identifier: MIT
// silo: options, input, result. `silo --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "apps/common/options.hpp"
#include "apps/silo/serial_silo.hpp"
#include "apps/silo/silo_tasks.hpp"

namespace rubato::apps::silo {
namespace {

struct Options {
  Scale scale;
  std::uint32_t transactions = 200;
  std::uint64_t seed = 1;
  TaskOptions tasks;
};

void declare(CommandLine& line, Options& o) {
  add_number(line, "--transactions", o.transactions, 0, 1 << 26, "How many transactions (default 200)");
  add_number(line, "--warehouses", o.scale.warehouses, 1, 1 << 12, "How many warehouses (default 1)");
  add_number(line, "--items", o.scale.items, 1, 1 << 24,
             "Items, each in stock in every warehouse (default 1000; specified: 100000)");
  add_number(line, "--customers", o.scale.customers, 1, 1 << 20,
             "Customers and first orders of a district (default 30; specified: 3000)");
  add_seed(line, o.seed, "Seed of the rows and of the transactions (default 1)");
  add_task_options(
      line, o.tasks,
      {.verify = "Compare all rows and answers with a serial execution in the order of numbers, and check "
                 "consistency conditions 1 to 4 and 8 of TPC-C; exit 1 if anything differs",
       .serial = "Execute the transactions serially, no tasks, for comparison"});
  line.footer(
      "The five transactions of TPC-C in its mix, each tens of tasks. The published input is --warehouses 4\n"
      "--transactions 1000 with the specified items and customers.\n"
      "Examples:\n"
      "  silo --transactions 40 --verify\n"
      "  silo --warehouses 4 --transactions 1000 --type spec\n"
      "Prints how many transactions of each kind were executed, and checksums of answers and rows.");
}

void print_kinds(const std::vector<Transaction>& transactions) {
  std::uint32_t counts[kKinds] = {};
  for (const Transaction& t : transactions) ++counts[static_cast<std::uint32_t>(t.kind)];
  std::printf("transactions: %zu\nnew orders: %" PRIu32 ", payments: %" PRIu32 ", order status: %" PRIu32
              ", deliveries: %" PRIu32 ", stock levels: %" PRIu32 "\n",
              transactions.size(), counts[0], counts[1], counts[2], counts[3], counts[4]);
}

/// Says the first difference.
bool check(const Database& database, const std::vector<Answer>& answers, const Database& expected,
           const std::vector<Answer>& expected_answers) {
  const std::string wrong = inconsistency(database);
  if (!wrong.empty()) {
    std::printf("%s\n", wrong.c_str());
    return false;
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (digest({answers[i]}) == digest({expected_answers[i]})) continue;
    std::printf("transaction %zu: order %" PRId64 ", total %" PRId64 ", but %" PRId64 " and %" PRId64
                " were expected, or single amounts differ\n",
                i + 1, answers[i].order.get(), answers[i].total.get(), expected_answers[i].order.get(),
                expected_answers[i].total.get());
    return false;
  }
  if (digest(database) == digest(expected)) return true;
  std::printf("rows differ from those of the serial execution\n");
  return false;
}

int run_silo(const Options& o) {
  const auto database = populate(o.scale, o.seed);
  const std::vector<Transaction> transactions = random_transactions(o.scale, o.transactions, o.seed);
  const std::vector<Answer> answers =
      o.tasks.is_serial ? serial_region([&] { return run_serially(*database, transactions); })
                        : run_by_tasks(*database, transactions, o.tasks.type);
  print_kinds(transactions);
  std::printf("answers: %016" PRIx64 "\nrows: %016" PRIx64 "\n", digest(answers), digest(*database));
  if (!o.tasks.verify) return 0;
  const auto expected = populate(o.scale, o.seed);
  const std::vector<Answer> expected_answers = run_serially(*expected, transactions);
  return report_check(check(*database, answers, *expected, expected_answers));
}

constexpr Application<Options> kApplication{
    .name = "silo",
    .description = "TPC-C on an in-memory database as ordered tasks: tens of tasks a transaction.",
    .declare = declare,
    .run = run_silo};

}  // namespace
}  // namespace rubato::apps::silo

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::silo::kApplication, argc, argv);
}
