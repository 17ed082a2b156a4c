// The nine tables of TPC-C, as rows of words: a number is a word, a text several, filled with blanks. Columns
// are types, so that reading or changing one is code of its own (statements.hpp). The widths are those of
// TPC-C rounded up to words, but c_data: 256 bytes instead of 500.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace rubato::workloads::oltp {

enum class Table : std::uint8_t { warehouse, district, customer, history, order, order_line, item, stock };

constexpr unsigned row_words(Table table) {
  constexpr std::array<unsigned, 8> kWords{19, 21, 66, 10, 8, 13, 12, 41};
  return kWords[static_cast<unsigned>(table)];
}

/// The columns of words [First, First + Words).
template <Table T, unsigned First, unsigned Words, bool IsText>
struct Column {
  static constexpr Table kTable = T;
  static constexpr unsigned kFirst = First, kWords = Words;
  static constexpr bool kIsText = IsText;
  static_assert(First + Words <= row_words(T));
};
template <Table T, unsigned First>
using Number = Column<T, First, 1, false>;
template <Table T, unsigned First, unsigned Words>
using Text = Column<T, First, Words, true>;

template <Table T>
struct Place {  // of a warehouse, a district and a customer
  template <unsigned First>
  struct At {
    using Name = Text<T, First, 2>;
    using Street1 = Text<T, First + 2, 3>;
    using Street2 = Text<T, First + 5, 3>;
    using City = Text<T, First + 8, 3>;
    using State = Text<T, First + 11, 1>;
    using Zip = Text<T, First + 12, 2>;
    static constexpr unsigned kEnd = First + 14;
  };
};

namespace warehouse {
using Id = Number<Table::warehouse, 0>;
using Place = oltp::Place<Table::warehouse>::At<1>;
using Tax = Number<Table::warehouse, Place::kEnd>;
using Ytd = Number<Table::warehouse, Place::kEnd + 1>;
}  // namespace warehouse

namespace district {
using Id = Number<Table::district, 0>;
using WarehouseId = Number<Table::district, 1>;
using Place = oltp::Place<Table::district>::At<2>;
using Tax = Number<Table::district, Place::kEnd>;
using Ytd = Number<Table::district, Place::kEnd + 1>;
using NextOrder = Number<Table::district, Place::kEnd + 2>;
}  // namespace district

namespace customer {
using Id = Number<Table::customer, 0>;
using DistrictId = Number<Table::customer, 1>;
using WarehouseId = Number<Table::customer, 2>;
using First = Text<Table::customer, 3, 2>;
using Middle = Text<Table::customer, 5, 1>;
using Last = oltp::Place<Table::customer>::At<6>::Name;
using Place = oltp::Place<Table::customer>::At<6>;
using Phone = Text<Table::customer, Place::kEnd, 2>;
using Since = Number<Table::customer, Place::kEnd + 2>;
using Credit = Text<Table::customer, Place::kEnd + 3, 1>;
using CreditLimit = Number<Table::customer, Place::kEnd + 4>;
using Discount = Number<Table::customer, Place::kEnd + 5>;
using Balance = Number<Table::customer, Place::kEnd + 6>;
using YtdPayment = Number<Table::customer, Place::kEnd + 7>;
using Payments = Number<Table::customer, Place::kEnd + 8>;
using Deliveries = Number<Table::customer, Place::kEnd + 9>;
using Data = Text<Table::customer, Place::kEnd + 10, 32>;
}  // namespace customer

namespace history {
using Customer = Number<Table::history, 0>;
using CustomerDistrict = Number<Table::history, 1>;
using CustomerWarehouse = Number<Table::history, 2>;
using District = Number<Table::history, 3>;
using Warehouse = Number<Table::history, 4>;
using Date = Number<Table::history, 5>;
using Amount = Number<Table::history, 6>;
using Data = Text<Table::history, 7, 3>;
}  // namespace history

namespace order {
using Id = Number<Table::order, 0>;
using District = Number<Table::order, 1>;
using Warehouse = Number<Table::order, 2>;
using Customer = Number<Table::order, 3>;
using Entered = Number<Table::order, 4>;
using Carrier = Number<Table::order, 5>;  ///< 0: not delivered
using Lines = Number<Table::order, 6>;
using IsLocal = Number<Table::order, 7>;
}  // namespace order

namespace order_line {
using Order = Number<Table::order_line, 0>;
using District = Number<Table::order_line, 1>;
using Warehouse = Number<Table::order_line, 2>;
using Id = Number<Table::order_line, 3>;
using Item = Number<Table::order_line, 4>;
using Supplier = Number<Table::order_line, 5>;
using Delivered = Number<Table::order_line, 6>;  ///< 0: not
using Quantity = Number<Table::order_line, 7>;
using Amount = Number<Table::order_line, 8>;
using Info = Text<Table::order_line, 9, 4>;
}  // namespace order_line

namespace item {
using Id = Number<Table::item, 0>;
using Image = Number<Table::item, 1>;
using Name = Text<Table::item, 2, 3>;
using Price = Number<Table::item, 5>;
using Data = Text<Table::item, 6, 6>;
}  // namespace item

namespace stock {
using Item = Number<Table::stock, 0>;
using Warehouse = Number<Table::stock, 1>;
using Quantity = Number<Table::stock, 2>;
using Ytd = Number<Table::stock, 3>;
using Orders = Number<Table::stock, 4>;
using RemoteOrders = Number<Table::stock, 5>;
using Data = Text<Table::stock, 6, 5>;
template <unsigned D>  // 0 to 9
using Info = Text<Table::stock, 11 + 3 * D, 3>;
}  // namespace stock

/// Share of word `index` in its row's checksum.
constexpr std::uint64_t check_of(unsigned index, std::uint64_t word) { return word * (2 * index + 3); }

template <Table T>
struct alignas(64) Row {  // Database::latch_of() guards numbers that change, and `check`
  static constexpr Table kTable = T;
  std::uint64_t check = 0;  ///< the sum of check_of() of all words
  std::array<std::uint64_t, row_words(T)> words{};

  template <class C>
  [[nodiscard]] std::uint64_t get() const {
    static_assert(C::kTable == T && !C::kIsText);
    return words[C::kFirst];
  }
  template <class C>
  void set(std::uint64_t value) {
    static_assert(C::kTable == T && !C::kIsText);
    words[C::kFirst] = value;
  }
  [[nodiscard]] std::uint64_t computed_check() const {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < words.size(); ++i) sum += check_of(i, words[i]);
    return sum;
  }
};

}  // namespace rubato::workloads::oltp
