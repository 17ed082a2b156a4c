// SPDX-License-Identifier: MIT
#include "workloads/oltp/session.hpp"

namespace rubato::workloads::oltp {

namespace {

template <Client F>
void run_one(Session& s, unsigned home) {
  const std::uint64_t draw = s.rng.below(100);
  if (draw < 45) return new_order<F>(s, home);
  if (draw < 88) return payment<F>(s, home);
  if (draw < 92) return order_status<F>(s, home);
  if (draw < 96) return delivery<F>(s, home);
  stock_level<F>(s, home);
}

}  // namespace

void run_transactions(Session& s, std::uint64_t count) {
  static constexpr std::array<void (*)(Session&, unsigned), kClients> kRun{
      run_one<Client::ascii>,      run_one<Client::upper>, run_one<Client::utf16_le>,
      run_one<Client::utf16_be>,   run_one<Client::utf32>, run_one<Client::ebcdic_037>,
      run_one<Client::ebcdic_500>, run_one<Client::binary>};
  for (; count > 0; --count, ++s.now) {
    const bool is_local = s.rng.below(100) < s.chances.local;
    const auto home =
        is_local ? s.own_warehouse : static_cast<unsigned>(s.rng.below(s.db.sizes().warehouses));
    kRun[s.rng.below(kClients)](s, home);
    s.reply.send();
  }
}

}  // namespace rubato::workloads::oltp
