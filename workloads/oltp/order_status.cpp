// TPC-C 2.6: a customer's last order and its lines.
// SPDX-License-Identifier: MIT
#include "workloads/oltp/session.hpp"

namespace rubato::workloads::oltp {
namespace {

constexpr Transaction kX = Transaction::order_status;

}  // namespace

template <Client F>
void order_status(Session& s, unsigned home) {
  Warehouse& w = s.db.warehouse(home);
  const unsigned d = s.district();
  Row<Table::customer>& customer = *s.customer_by_name_or_number<kX>(w, d);
  {
    const Guard guard(s.db.latch_of(customer));
    if (!check<kX>(customer)) ++s.wrong_rows;
    send_all<kX, F, customer::Id, customer::First, customer::Middle, customer::Last, customer::Balance>(
        customer, s.reply);
  }
  Row<Table::order>* order = nullptr;
  const std::uint64_t number = customer.get<customer::Id>();
  w.customer_orders.scan(customer_order_key(d, number, 0xffffffffU), customer_order_key(d, number, 0) + 1,
                         [&](std::uint64_t, std::uint64_t row) {
                           order = Database::pointer<Table::order>(row);
                           return false;
                         });
  std::array<Row<Table::order_line>*, kMaxLines> lines{};
  unsigned count = 0;
  const std::uint64_t id = order->get<order::Id>();
  w.order_lines.scan(line_key(d, id, 1), line_key(d, id, kMaxLines + 1),
                     [&](std::uint64_t, std::uint64_t row) {
                       lines[count++] = Database::pointer<Table::order_line>(row);
                       return count < lines.size();
                     });
  {
    const Guard guard(s.db.latch_of(*order));  // also of the lines
    if (!check<kX>(*order)) ++s.wrong_rows;
    send_all<kX, F, order::Id, order::Entered, order::Carrier>(*order, s.reply);
    for (unsigned i = 0; i < count; ++i) {
      if (!check<kX>(*lines[i])) ++s.wrong_rows;
      send_all<kX, F, order_line::Item, order_line::Supplier, order_line::Quantity, order_line::Amount,
               order_line::Delivered>(*lines[i], s.reply);
    }
  }
  s.commit(kX);
}

RUBATO_FOR_EACH_CLIENT(order_status);

}  // namespace rubato::workloads::oltp
