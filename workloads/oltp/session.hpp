// Session: the state of a thread of the server, and the transactions that it runs for clients.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/rng.hpp"
#include "workloads/oltp/database.hpp"
#include "workloads/oltp/log.hpp"
#include "workloads/oltp/reply.hpp"
#include "workloads/oltp/statements.hpp"

namespace rubato::workloads::oltp {

struct Chances {
  unsigned remote = 15;  ///< percent of order lines' suppliers and of payers that are of another warehouse
  unsigned local = 100;  ///< percent of transactions of the thread's own warehouse; all others are of any
};

/// A server's thread, with the transaction that it runs.
struct Session {
  Session(Database& of, const Chances& c, unsigned thread, std::uint64_t seed)
      : db(of), chances(c), own_warehouse(thread % of.sizes().warehouses), rng(seed) {}

  Database& db;
  Chances chances;
  unsigned own_warehouse;
  Rng rng;
  Reply reply;
  LogRecord record;
  Arena rows;
  std::uint64_t now = 2;  ///< time of day: the thread's transactions
  std::array<std::uint64_t, kTransactions> commits{};
  std::uint64_t rolled_back = 0, duplicates = 0, wrong_rows = 0;
  std::vector<Row<Table::history>*> payments;

  void commit(Transaction t) {
    db.log().append(static_cast<std::uint64_t>(t), record);
    ++commits[static_cast<unsigned>(t)];
  }
  /// TPC-C's NURand on [0, bound).
  std::uint64_t skewed(std::uint64_t bound) {
    const std::uint64_t a = std::bit_ceil(bound / 3 + 1) - 1;
    return ((rng.below(a + 1) | rng.below(bound)) + a / 2) % bound;
  }
  unsigned district() { return static_cast<unsigned>(rng.below(kDistricts)); }
  unsigned other_warehouse(unsigned than) {
    const unsigned warehouses = db.sizes().warehouses;
    if (warehouses == 1 || rng.below(100) >= chances.remote) return than;
    return static_cast<unsigned>((than + 1 + rng.below(warehouses - 1)) % warehouses);
  }
  Row<Table::customer>* customer(Warehouse& w, unsigned district, std::uint64_t number) {
    return w.customers.find(district * db.sizes().customers + number);
  }
  /// Six in ten clients give a name instead of a number: the middle one of those whose first names it reads.
  template <Transaction X>
  Row<Table::customer>* customer_by_name_or_number(Warehouse& w, unsigned district);
};

using Guard = std::lock_guard<DataLatch>;

template <Transaction X>
Row<Table::customer>* Session::customer_by_name_or_number(Warehouse& w, unsigned district) {
  if (rng.below(10) >= 6) return customer(w, district, skewed(db.sizes().customers));
  const std::uint64_t name = skewed(db.sizes().names());
  std::array<Row<Table::customer>*, 4> found{};
  unsigned count = 0;
  w.names.scan(name_key(district, name, 0, 0), name_key(district, name + 1, 0, 0),
               [&](std::uint64_t, std::uint64_t row) {
                 found[count++] = Database::pointer<Table::customer>(row);
                 return count < found.size();
               });
  for (unsigned i = 0; i < count; ++i) {
    const Guard guard(db.latch_of(*found[i]));
    if (!check<X>(*found[i])) ++wrong_rows;
  }
  return found[count / 2];
}

/// Transactions for a client of warehouse `home`.
template <Client F>
void new_order(Session& s, unsigned home);
template <Client F>
void payment(Session& s, unsigned home);
template <Client F>
void order_status(Session& s, unsigned home);
template <Client F>
void delivery(Session& s, unsigned home);
template <Client F>
void stock_level(Session& s, unsigned home);

/// A source file has a transaction, for each kind of client.
#define RUBATO_FOR_EACH_CLIENT(transaction)                          \
  template void transaction<Client::ascii>(Session&, unsigned);      \
  template void transaction<Client::upper>(Session&, unsigned);      \
  template void transaction<Client::utf16_le>(Session&, unsigned);   \
  template void transaction<Client::utf16_be>(Session&, unsigned);   \
  template void transaction<Client::utf32>(Session&, unsigned);      \
  template void transaction<Client::ebcdic_037>(Session&, unsigned); \
  template void transaction<Client::ebcdic_500>(Session&, unsigned); \
  template void transaction<Client::binary>(Session&, unsigned)

/// Runs `count` transactions in TPC-C's mix.
void run_transactions(Session& s, std::uint64_t count);

/// TPC-C's consistency conditions and ours. @throws WrongResult
void verify(Database& db, const std::vector<std::unique_ptr<Session>>& sessions);

}  // namespace rubato::workloads::oltp
