// TPC-C 2.4: an order of 5 to 15 lines. Lines are inserted before their order, and the order before its entry
// for delivery, so that a reader that finds one finds all of it.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workloads/oltp/session.hpp"

namespace rubato::workloads::oltp {
namespace {

constexpr Transaction kX = Transaction::new_order;

struct Line {
  std::uint64_t item = 0, quantity = 0;
  unsigned supplier = 0;
  const Row<Table::item>* row = nullptr;
};

template <unsigned D>
void copy_info(const Row<Table::stock>& from, Row<Table::order_line>& to) {
  using From = stock::Info<D>;
  using To = order_line::Info;
  for (unsigned i = 0; i < From::kWords; ++i) to.words[To::kFirst + i] = from.words[From::kFirst + i];
  to.words[To::kFirst + From::kWords] = 0x2020202020202020ULL;
}
constexpr std::array<void (*)(const Row<Table::stock>&, Row<Table::order_line>&), kDistricts> kCopyInfo{
    copy_info<0>, copy_info<1>, copy_info<2>, copy_info<3>, copy_info<4>,
    copy_info<5>, copy_info<6>, copy_info<7>, copy_info<8>, copy_info<9>};

template <class C, Table T>
bool says_original(const Row<T>& row) {
  return std::find(row.words.begin() + C::kFirst, row.words.begin() + C::kFirst + C::kWords, kOriginal) !=
         row.words.begin() + C::kFirst + C::kWords;
}

/// The line's goods are taken from stock. @returns the line's row, whose amount is still to be set
template <Client F>
Row<Table::order_line>* take_stock(Session& s, const Line& line, unsigned home, unsigned district) {
  Row<Table::stock>& stock = *s.db.warehouse(line.supplier).stock.find(line.item);
  auto* row = s.rows.make<Row<Table::order_line>>();
  const Guard guard(s.db.latch_of(stock));
  if (!check<kX>(stock)) ++s.wrong_rows;
  const std::uint64_t have = stock.get<stock::Quantity>();
  const std::uint64_t left = have >= line.quantity + 10 ? have - line.quantity : have - line.quantity + 91;
  change<kX, stock::Quantity>(stock, s.record, left);
  change<kX, stock::Ytd>(stock, s.record, stock.get<stock::Ytd>() + line.quantity);
  change<kX, stock::Orders>(stock, s.record, stock.get<stock::Orders>() + 1);
  if (line.supplier != home)
    change<kX, stock::RemoteOrders>(stock, s.record, stock.get<stock::RemoteOrders>() + 1);
  kCopyInfo[district](stock, *row);
  send_all<kX, F, stock::Item, stock::Quantity>(stock, s.reply);
  if (says_original<stock::Data>(stock)) send<kX, F, stock::Data>(stock, s.reply);
  return row;
}

}  // namespace

template <Client F>
void new_order(Session& s, unsigned home) {
  Warehouse& w = s.db.warehouse(home);
  const unsigned d = s.district();
  const std::uint64_t customer_number = s.skewed(s.db.sizes().customers);
  const auto count = static_cast<unsigned>(5 + s.rng.below(kMaxLines - 4));
  const bool is_wrong = s.rng.below(100) == 0;  // the client mistypes the last item

  // The items first: a wrong one ends the transaction before it has changed anything.
  std::array<Line, kMaxLines> lines;
  bool is_local = true;
  for (unsigned i = 0; i < count; ++i) {
    Line& line = lines[i];
    line.item = is_wrong && i + 1 == count ? s.db.sizes().items : s.skewed(s.db.sizes().items);
    line.supplier = s.other_warehouse(home);
    line.quantity = 1 + s.rng.below(10);
    line.row = s.db.find_item(line.item);
    is_local = is_local && line.supplier == home;
    if (line.row == nullptr) {
      ++s.rolled_back;
      return;
    }
    if (!check<kX>(*line.row)) ++s.wrong_rows;
    send_all<kX, F, item::Id, item::Name, item::Price>(*line.row, s.reply);
  }

  std::uint64_t percent = 0, order_id = 0, taxes = 10'000;
  {
    const Guard guard(s.db.latch_of(w.row));
    if (!check<kX>(w.row)) ++s.wrong_rows;
    taxes += w.row.get<warehouse::Tax>();
    send_all<kX, F, warehouse::Id, warehouse::Tax>(w.row, s.reply);
  }
  {
    Row<Table::customer>& customer = *s.customer(w, d, customer_number);
    const Guard guard(s.db.latch_of(customer));
    if (!check<kX>(customer)) ++s.wrong_rows;
    percent = 10'000 - customer.get<customer::Discount>();
    send_all<kX, F, customer::Id, customer::Last, customer::Credit, customer::Discount>(customer, s.reply);
  }
  {
    Row<Table::district>& district = w.districts[d];
    const Guard guard(s.db.latch_of(district));
    if (!check<kX>(district)) ++s.wrong_rows;
    order_id = district.get<district::NextOrder>();
    change<kX, district::NextOrder>(district, s.record, order_id + 1);
    taxes += district.get<district::Tax>();
    send_all<kX, F, district::Id, district::Tax, district::NextOrder>(district, s.reply);
  }

  for (unsigned i = 0; i < count; ++i) {
    const Line& line = lines[i];
    Row<Table::order_line>* row = take_stock<F>(s, line, home, d);
    row->set<order_line::Order>(order_id);
    row->set<order_line::District>(d);
    row->set<order_line::Warehouse>(home);
    row->set<order_line::Id>(i + 1);
    row->set<order_line::Item>(line.item);
    row->set<order_line::Supplier>(line.supplier);
    row->set<order_line::Quantity>(line.quantity);
    row->set<order_line::Amount>(line.quantity * line.row->get<item::Price>() * percent / 10'000 * taxes /
                                 10'000);
    insert<kX>(*row, s.record);
    send_all<kX, F, order_line::Id, order_line::Supplier, order_line::Quantity, order_line::Amount,
             order_line::Info>(*row, s.reply);
    if (says_original<item::Data>(*line.row)) send<kX, F, item::Data>(*line.row, s.reply);
    if (!w.order_lines.insert(line_key(d, order_id, i + 1), reinterpret_cast<std::uint64_t>(row)))  // NOLINT
      ++s.duplicates;
  }

  auto* row = s.rows.make<Row<Table::order>>();
  row->set<order::Id>(order_id);
  row->set<order::District>(d);
  row->set<order::Warehouse>(home);
  row->set<order::Customer>(customer_number);
  row->set<order::Entered>(s.now);
  row->set<order::Lines>(count);
  row->set<order::IsLocal>(is_local ? 1 : 0);
  insert<kX>(*row, s.record);
  send_all<kX, F, order::Id, order::Entered, order::Lines>(*row, s.reply);
  const auto pointer = reinterpret_cast<std::uint64_t>(row);  // NOLINT
  if (!w.orders.insert(order_key(d, order_id), pointer)) ++s.duplicates;
  if (!w.customer_orders.insert(customer_order_key(d, customer_number, order_id), pointer)) ++s.duplicates;
  if (!w.new_orders.insert(order_key(d, order_id), pointer)) ++s.duplicates;
  s.commit(kX);
}

RUBATO_FOR_EACH_CLIENT(new_order);

}  // namespace rubato::workloads::oltp
