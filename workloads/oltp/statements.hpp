// Statements: the work of transactions on rows. Each is a function of its own for each transaction, column
// and kind of client, as a database has a compiled plan for each statement. They are oltp's hot code, of more
// than 256 KiB.
//
//   send     a column to the client, converted
//   change   a column's words, with images of before and after in the log record
//   insert   a new row, with its image in the log record
//   check    a row against its checksum; the caller holds its latch
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "workloads/oltp/log.hpp"
#include "workloads/oltp/reply.hpp"
#include "workloads/oltp/schema.hpp"

namespace rubato::workloads::oltp {

enum class Transaction : std::uint8_t { new_order, payment, order_status, delivery, stock_level };
constexpr unsigned kTransactions = 5;

constexpr std::uint64_t tag_of(Transaction transaction, Table table, unsigned column) {
  return static_cast<std::uint64_t>(transaction) << 16 | static_cast<std::uint64_t>(table) << 8 | column;
}

template <Transaction X, Client F, class C>
[[gnu::noinline]] void send(const Row<C::kTable>& row, Reply& reply) {
  constexpr std::uint64_t kTag = tag_of(X, C::kTable, C::kFirst);
  if constexpr (C::kIsText) {
    constexpr unsigned kEach = words_of_text(F);
    std::uint64_t* to = reply.field(kTag, C::kWords * kEach);
    [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) {
      (put_text<F>(to + I * kEach, row.words[C::kFirst + I]), ...);
    }(std::make_integer_sequence<unsigned, C::kWords>{});
  } else {
    put_number<F>(reply.field(kTag, words_of_number(F)), row.words[C::kFirst]);
  }
}

/// Several columns, one after another.
template <Transaction X, Client F, class... Cs, Table T>
void send_all(const Row<T>& row, Reply& reply) {
  (send<X, F, Cs>(row, reply), ...);
}

template <Transaction X, class C>
[[gnu::noinline]] void change(Row<C::kTable>& row, LogRecord& record, std::uint64_t value) {
  static_assert(!C::kIsText);
  std::uint64_t* to = record.take(4);
  to[0] = tag_of(X, C::kTable, C::kFirst);
  to[1] = row.words[0] << 32 | row.words[1];
  to[2] = row.words[C::kFirst];
  to[3] = value;
  row.check += check_of(C::kFirst, value) - check_of(C::kFirst, row.words[C::kFirst]);
  row.words[C::kFirst] = value;
}

template <Transaction X, class C>
[[gnu::noinline]] void change_text(Row<C::kTable>& row, LogRecord& record, const std::uint64_t* text) {
  static_assert(C::kIsText);
  std::uint64_t* to = record.take(2 + 2 * C::kWords);
  to[0] = tag_of(X, C::kTable, C::kFirst);
  to[1] = row.words[0] << 32 | row.words[1];
  std::uint64_t check = row.check;
  [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) {
    ((to[2 + I] = row.words[C::kFirst + I], to[2 + C::kWords + I] = text[I],
      check += check_of(C::kFirst + I, text[I]) - check_of(C::kFirst + I, row.words[C::kFirst + I]),
      row.words[C::kFirst + I] = text[I]),
     ...);
  }(std::make_integer_sequence<unsigned, C::kWords>{});
  row.check = check;
}

template <Transaction X, Table T>
[[gnu::noinline]] void insert(Row<T>& row, LogRecord& record) {
  std::uint64_t* to = record.take(1 + row_words(T));
  to[0] = tag_of(X, T, 0xff);
  std::uint64_t check = 0;
  [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) {
    ((to[1 + I] = row.words[I], check += check_of(I, row.words[I])), ...);
  }(std::make_integer_sequence<unsigned, row_words(T)>{});
  row.check = check;
}

template <Transaction X, Table T>
[[gnu::noinline]] bool check(const Row<T>& row) {
  std::uint64_t sum = static_cast<std::uint64_t>(X);
  [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) {
    ((sum += check_of(I, row.words[I])), ...);
  }(std::make_integer_sequence<unsigned, row_words(T)>{});
  return sum == row.check + static_cast<std::uint64_t>(X);
}

}  // namespace rubato::workloads::oltp
