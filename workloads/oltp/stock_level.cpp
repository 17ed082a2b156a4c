// TPC-C 2.8: how many items of a district's last twenty orders are low in stock.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "workloads/oltp/session.hpp"

namespace rubato::workloads::oltp {
namespace {

constexpr Transaction kX = Transaction::stock_level;
constexpr unsigned kOrders = 20;

}  // namespace

template <Client F>
void stock_level(Session& s, unsigned home) {
  Warehouse& w = s.db.warehouse(home);
  const unsigned d = s.district();
  const std::uint64_t threshold = 10 + s.rng.below(11);
  std::uint64_t next = 0;
  {
    const Guard guard(s.db.latch_of(w.districts[d]));
    if (!check<kX>(w.districts[d])) ++s.wrong_rows;
    next = w.districts[d].get<district::NextOrder>();
    send_all<kX, F, district::Id, district::NextOrder>(w.districts[d], s.reply);
  }
  std::array<std::uint64_t, kOrders * kMaxLines> items;
  std::size_t count = 0;
  const std::uint64_t first = next > kOrders ? next - kOrders : 1;
  w.order_lines.scan(line_key(d, first, 0), line_key(d, next, 0), [&](std::uint64_t, std::uint64_t row) {
    items[count++] = Database::pointer<Table::order_line>(row)->get<order_line::Item>();
    return count < items.size();
  });
  std::sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
  const auto end = std::unique(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
  std::uint64_t low = 0;
  for (auto item = items.begin(); item != end; ++item) {
    Row<Table::stock>& row = *w.stock.find(*item);
    const Guard guard(s.db.latch_of(row));
    if (!check<kX>(row)) ++s.wrong_rows;
    if (row.get<stock::Quantity>() >= threshold) continue;
    ++low;
    send_all<kX, F, stock::Item, stock::Quantity>(row, s.reply);
  }
  put_number<F>(s.reply.field(tag_of(kX, Table::stock, 0xfe), words_of_number(F)), low);
  s.commit(kX);
}

RUBATO_FOR_EACH_CLIENT(stock_level);

}  // namespace rubato::workloads::oltp
