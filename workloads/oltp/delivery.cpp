// TPC-C 2.7: of each district of a warehouse, the oldest order that has not been delivered.
// SPDX-License-Identifier: MIT
#include "workloads/oltp/session.hpp"

namespace rubato::workloads::oltp {
namespace {

constexpr Transaction kX = Transaction::delivery;

template <Client F>
void deliver(Session& s, Warehouse& w, unsigned d, std::uint64_t carrier) {
  const std::uint64_t next = w.next_delivery[d].load();
  const auto oldest = w.new_orders.take_first(order_key(d, 0), order_key(d, next + 1));
  if (!oldest) return;  // all are delivered, or another delivery, or the order's entry, is not over
  w.next_delivery[d].store(next + 1);
  auto& order = *Database::pointer<Table::order>(oldest->second);
  const std::uint64_t id = order.get<order::Id>();
  std::array<Row<Table::order_line>*, kMaxLines> lines{};
  unsigned count = 0;
  w.order_lines.scan(line_key(d, id, 1), line_key(d, id, kMaxLines + 1),
                     [&](std::uint64_t, std::uint64_t row) {
                       lines[count++] = Database::pointer<Table::order_line>(row);
                       return count < lines.size();
                     });
  std::uint64_t total = 0;
  {
    const Guard guard(s.db.latch_of(order));
    if (!check<kX>(order)) ++s.wrong_rows;
    change<kX, order::Carrier>(order, s.record, carrier);
    for (unsigned i = 0; i < count; ++i) {
      if (!check<kX>(*lines[i])) ++s.wrong_rows;
      change<kX, order_line::Delivered>(*lines[i], s.record, s.now);
      total += lines[i]->get<order_line::Amount>();
    }
    send_all<kX, F, order::Id, order::District, order::Carrier>(order, s.reply);
  }
  Row<Table::customer>& customer = *s.customer(w, d, order.get<order::Customer>());
  const Guard guard(s.db.latch_of(customer));
  if (!check<kX>(customer)) ++s.wrong_rows;
  change<kX, customer::Balance>(customer, s.record, customer.get<customer::Balance>() + total);
  change<kX, customer::Deliveries>(customer, s.record, customer.get<customer::Deliveries>() + 1);
  send_all<kX, F, customer::Id, customer::Balance>(customer, s.reply);
}

}  // namespace

template <Client F>
void delivery(Session& s, unsigned home) {
  const std::uint64_t carrier = 1 + s.rng.below(10);
  for (unsigned d = 0; d < kDistricts; ++d) deliver<F>(s, s.db.warehouse(home), d, carrier);
  s.commit(kX);
}

RUBATO_FOR_EACH_CLIENT(delivery);

}  // namespace rubato::workloads::oltp
