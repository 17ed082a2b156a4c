// TPC-C 2.5: a customer pays, perhaps at another warehouse.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workloads/oltp/session.hpp"

namespace rubato::workloads::oltp {
namespace {

constexpr Transaction kX = Transaction::payment;

template <Client F, class P, Table T>
void send_place(const Row<T>& row, Reply& reply) {
  send_all<kX, F, typename P::Name, typename P::Street1, typename P::Street2, typename P::City,
           typename P::State, typename P::Zip>(row, reply);
}

bool has_bad_credit(const Row<Table::customer>& row) {
  return (row.words[customer::Credit::kFirst] & 0xffff) == ('B' | 'C' << 8);
}

}  // namespace

template <Client F>
void payment(Session& s, unsigned home) {
  Warehouse& w = s.db.warehouse(home);
  const unsigned d = s.district();
  const std::uint64_t amount = 100 + s.rng.below(499'901);
  const unsigned from = s.other_warehouse(home);
  Warehouse& payer_home = s.db.warehouse(from);
  const unsigned payer_district = from == home ? d : s.district();
  Row<Table::customer>& payer = *s.customer_by_name_or_number<kX>(payer_home, payer_district);
  {
    const Guard guard(s.db.latch_of(w.row));
    if (!check<kX>(w.row)) ++s.wrong_rows;
    change<kX, warehouse::Ytd>(w.row, s.record, w.row.get<warehouse::Ytd>() + amount);
    send_place<F, warehouse::Place>(w.row, s.reply);
  }
  {
    Row<Table::district>& district = w.districts[d];
    const Guard guard(s.db.latch_of(district));
    if (!check<kX>(district)) ++s.wrong_rows;
    change<kX, district::Ytd>(district, s.record, district.get<district::Ytd>() + amount);
    send_place<F, district::Place>(district, s.reply);
  }
  {
    const Guard guard(s.db.latch_of(payer));
    if (!check<kX>(payer)) ++s.wrong_rows;
    change<kX, customer::Balance>(payer, s.record, payer.get<customer::Balance>() - amount);
    change<kX, customer::YtdPayment>(payer, s.record, payer.get<customer::YtdPayment>() + amount);
    change<kX, customer::Payments>(payer, s.record, payer.get<customer::Payments>() + 1);
    if (has_bad_credit(payer)) {  // what was paid goes in front of its data
      using Data = customer::Data;
      std::array<std::uint64_t, Data::kWords> data{
          payer.get<customer::Id>(), payer_district, from, d, home, amount};
      std::copy_n(payer.words.begin() + Data::kFirst, Data::kWords - 6, data.begin() + 6);
      change_text<kX, Data>(payer, s.record, data.data());
      send<kX, F, Data>(payer, s.reply);
    }
    send_all<kX, F, customer::Id, customer::First, customer::Middle, customer::Last>(payer, s.reply);
    send_place<F, customer::Place>(payer, s.reply);
    send_all<kX, F, customer::Phone, customer::Since, customer::Credit, customer::CreditLimit,
             customer::Discount, customer::Balance>(payer, s.reply);
  }
  auto* row = s.rows.make<Row<Table::history>>();
  row->set<history::Customer>(payer.get<customer::Id>());
  row->set<history::CustomerDistrict>(payer_district);
  row->set<history::CustomerWarehouse>(from);
  row->set<history::District>(d);
  row->set<history::Warehouse>(home);
  row->set<history::Date>(s.now);
  row->set<history::Amount>(amount);
  for (unsigned i = 0; i < history::Data::kWords; ++i)
    row->words[history::Data::kFirst + i] = i < 2 ? w.row.words[warehouse::Place::Name::kFirst + i]
                                                  : w.districts[d].words[district::Place::Name::kFirst];
  insert<kX>(*row, s.record);
  s.payments.push_back(row);
  send_all<kX, F, history::Date, history::Amount, history::Data>(*row, s.reply);
  s.commit(kX);
}

RUBATO_FOR_EACH_CLIENT(payment);

}  // namespace rubato::workloads::oltp
