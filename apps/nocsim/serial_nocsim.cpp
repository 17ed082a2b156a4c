// SPDX-License-Identifier: MIT
// The routers are those of the tasks; the order in which they work is not: cycle by cycle instead of event by
// event.
#include "apps/nocsim/serial_nocsim.hpp"

#include <vector>

#include "apps/nocsim/router.hpp"

namespace rubato::apps::nocsim {
namespace {

/// Input of a router in the next cycle.
struct Delivery {
  std::uint32_t router;
  std::uint32_t link;
  Sent::Link what;
};

}  // namespace

Arrivals simulate_serially(const Network& network, const Schedule& schedule) {
  std::vector<Router> routers = make_routers(network);
  std::vector<std::uint32_t> next_injection = schedule.first;
  Arrivals arrivals(schedule.injections.size());
  std::vector<Delivery> now, next;
  std::size_t arrived = 0;
  for (std::uint64_t cycle = 0; arrived < arrivals.size() || !next.empty(); ++cycle) {
    now.swap(next);
    next.clear();
    for (const Delivery& d : now)
      routers[d.router].receive(d.link, d.what.flit, d.what.channel, d.what.credit);
    for (Router& router : routers) {
      std::uint32_t& n = next_injection[router.number];
      for (; n < schedule.first[router.number + 1] && schedule.injections[n].cycle == cycle; ++n)
        router.inject(n, schedule.injections[n].destination);
      const Sent sent = router.step();
      for (std::uint32_t link = 0; link < kLinks; ++link) {
        const Sent::Link& what = sent.links[link];
        if (what.flit == nullptr && what.credit == kNone) continue;
        next.push_back({neighbour(router, link), opposite(link), what});
      }
      if (sent.arrived == nullptr) continue;
      const Packet* const packet = sent.arrived->packet;
      if (sent.arrived->is_tail()) {
        arrivals[packet->number] = cycle;
        ++arrived;
        delete packet;
      }
      delete sent.arrived;
    }
  }
  return arrivals;
}

}  // namespace rubato::apps::nocsim
