// Fills the database as TPC-C 4.3 says: a customer has one order, a third of which are not delivered yet.
// SPDX-License-Identifier: MIT
#include "workloads/oltp/database.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace rubato::workloads::oltp {
namespace {

std::uint64_t text_of(const char* eight) {
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof word);
  return word;
}

/// Fills a text with words of eight letters.
template <class C, Table T>
void fill(Row<T>& row, Rng& rng) {
  static constexpr std::array<const char*, 16> kWords{
      "packing ", "station ", "rotates ", "Oakwood ", "spindle ", "measure ", "Granite ", "harbour ",
      "quarter ", "linseed ", "Bellows ", "thicket ", "copper  ", "Juniper ", "village ", "salt 12 "};
  for (unsigned i = 0; i < C::kWords; ++i)
    row.words[C::kFirst + i] = text_of(kWords[rng.below(kWords.size())]);
}

template <class P, Table T>
void fill_place(Row<T>& row, Rng& rng) {
  fill<typename P::Name>(row, rng);
  fill<typename P::Street1>(row, rng);
  fill<typename P::Street2>(row, rng);
  fill<typename P::City>(row, rng);
  fill<typename P::State>(row, rng);
  fill<typename P::Zip>(row, rng);
}

/// TPC-C's names of three syllables, in two words.
std::array<std::uint64_t, 2> last_name(unsigned number) {
  static constexpr std::array<const char*, 10> kSyllables{"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                          "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  std::string name =
      std::string(kSyllables[number / 100 % 10]) + kSyllables[number / 10 % 10] + kSyllables[number % 10];
  name.resize(16, ' ');
  return {text_of(name.data()), text_of(name.data() + 8)};
}

}  // namespace

Warehouse::Warehouse(const Sizes& sizes)
    : customers(std::uint64_t{kDistricts} * sizes.customers), stock(sizes.items) {}

Database::Database(const Sizes& sizes, std::uint64_t seed)
    : sizes_(sizes),
      seed_(seed),
      latches_(kRowLatches),
      warehouses_(sizes.warehouses),
      items_(sizes.items),
      log_(5, 1U << 17, 1U << 12) {}

void Database::load_items() {
  Rng rng(seed_);
  for (unsigned i = 0; i < sizes_.items; ++i) {
    auto* row = item_rows_.make<Row<Table::item>>();
    row->set<item::Id>(i);
    row->set<item::Image>(rng.below(10'000));
    fill<item::Name>(*row, rng);
    row->set<item::Price>(100 + rng.below(9'901));
    fill<item::Data>(*row, rng);
    if (rng.below(10) == 0) row->words[item::Data::kFirst + rng.below(item::Data::kWords)] = kOriginal;
    row->check = row->computed_check();
    items_.insert(i, row);
  }
}

void Database::load_customer(Warehouse& w, unsigned warehouse, unsigned district, unsigned customer,
                             Rng& rng) {
  auto* row = w.first_rows.make<Row<Table::customer>>();
  row->set<customer::Id>(customer);
  row->set<customer::DistrictId>(district);
  row->set<customer::WarehouseId>(warehouse);
  fill<customer::First>(*row, rng);
  row->words[customer::Middle::kFirst] = text_of("OE      ");
  fill_place<customer::Place>(*row, rng);
  const unsigned name = customer % sizes_.names();
  const auto last = last_name(name);
  std::copy(last.begin(), last.end(), row->words.begin() + customer::Last::kFirst);
  fill<customer::Phone>(*row, rng);
  row->words[customer::Credit::kFirst] = text_of(rng.below(10) == 0 ? "BC      " : "GC      ");
  row->set<customer::CreditLimit>(5'000'000);
  row->set<customer::Discount>(rng.below(5'001));
  row->set<customer::Balance>(kFirstBalance);
  row->set<customer::YtdPayment>(kFirstPayment);
  row->set<customer::Payments>(1);
  fill<customer::Data>(*row, rng);
  row->check = row->computed_check();
  w.customers.insert(district * sizes_.customers + customer, row);
  const std::uint64_t first_two = __builtin_bswap64(row->words[customer::First::kFirst]) >> 48;
  w.names.insert(name_key(district, name, first_two, customer),
                 reinterpret_cast<std::uint64_t>(row));  // NOLINT
}

void Database::load_order(Warehouse& w, unsigned warehouse, unsigned district, unsigned order,
                          unsigned customer, Rng& rng) {
  const bool is_delivered = order < w.next_delivery[district];
  const auto lines = static_cast<unsigned>(5 + rng.below(11));
  for (unsigned n = 1; n <= lines; ++n) {
    auto* line = w.first_rows.make<Row<Table::order_line>>();
    line->set<order_line::Order>(order);
    line->set<order_line::District>(district);
    line->set<order_line::Warehouse>(warehouse);
    line->set<order_line::Id>(n);
    line->set<order_line::Item>(rng.below(sizes_.items));
    line->set<order_line::Supplier>(warehouse);
    line->set<order_line::Delivered>(is_delivered ? 1 : 0);
    line->set<order_line::Quantity>(5);
    line->set<order_line::Amount>(is_delivered ? 0 : 1 + rng.below(999'999));
    fill<order_line::Info>(*line, rng);
    line->check = line->computed_check();
    w.order_lines.insert(line_key(district, order, n), reinterpret_cast<std::uint64_t>(line));  // NOLINT
  }
  auto* row = w.first_rows.make<Row<Table::order>>();
  row->set<order::Id>(order);
  row->set<order::District>(district);
  row->set<order::Warehouse>(warehouse);
  row->set<order::Customer>(customer);
  row->set<order::Entered>(1);
  row->set<order::Carrier>(is_delivered ? 1 + rng.below(10) : 0);
  row->set<order::Lines>(lines);
  row->set<order::IsLocal>(1);
  row->check = row->computed_check();
  const auto pointer = reinterpret_cast<std::uint64_t>(row);  // NOLINT
  w.orders.insert(order_key(district, order), pointer);
  w.customer_orders.insert(customer_order_key(district, customer, order), pointer);
  if (!is_delivered) w.new_orders.insert(order_key(district, order), pointer);
}

void Database::load(unsigned warehouse) {
  Rng rng(seed_ + 1 + warehouse);
  warehouses_[warehouse] = std::make_unique<Warehouse>(sizes_);
  Warehouse& w = *warehouses_[warehouse];
  w.row.set<warehouse::Id>(warehouse);
  fill_place<warehouse::Place>(w.row, rng);
  w.row.set<warehouse::Tax>(rng.below(2'001));
  w.row.set<warehouse::Ytd>(kDistricts * kFirstDistrictYtd);
  w.row.check = w.row.computed_check();
  for (unsigned i = 0; i < sizes_.items; ++i) {
    auto* row = w.first_rows.make<Row<Table::stock>>();
    row->set<stock::Item>(i);
    row->set<stock::Warehouse>(warehouse);
    row->set<stock::Quantity>(10 + rng.below(91));
    fill<stock::Data>(*row, rng);
    if (rng.below(10) == 0) row->words[stock::Data::kFirst + rng.below(stock::Data::kWords)] = kOriginal;
    fill<Text<Table::stock, stock::Info<0>::kFirst, 3 * kDistricts>>(*row, rng);
    row->check = row->computed_check();
    w.stock.insert(i, row);
  }
  for (unsigned d = 0; d < kDistricts; ++d) {
    Row<Table::district>& row = w.districts[d];
    row.set<district::Id>(d);
    row.set<district::WarehouseId>(warehouse);
    fill_place<district::Place>(row, rng);
    row.set<district::Tax>(rng.below(2'001));
    row.set<district::Ytd>(kFirstDistrictYtd);
    row.set<district::NextOrder>(sizes_.customers + 1);
    row.check = row.computed_check();
    std::vector<unsigned> customers(sizes_.customers);
    std::iota(customers.begin(), customers.end(), 0U);
    for (unsigned c = 0; c < sizes_.customers; ++c) {
      load_customer(w, warehouse, d, c, rng);
      std::swap(customers[c], customers[rng.below(c + 1)]);
    }
    w.next_delivery[d] = sizes_.customers * 7 / 10 + 1;
    for (unsigned o = 0; o < sizes_.customers; ++o) load_order(w, warehouse, d, o + 1, customers[o], rng);
  }
}

}  // namespace rubato::workloads::oltp
