// SPDX-License-Identifier: MIT
// At 4 c a router receives what its neighbours sent in cycle c - 1, and packets of cycle c are injected.
// At 4 c + 2 a router that holds flits steps. A task touches only the router that is its locale. Tasks of one
// router and timestamp touch different ports, so their order does not matter.
#include "apps/nocsim/nocsim_tasks.hpp"

#include <cstddef>

#include "apps/common/task_type.hpp"
#include "apps/nocsim/router.hpp"

namespace rubato::apps::nocsim {
namespace {

constexpr std::uint64_t kCycle = 4;  // timestamps
constexpr std::uint64_t kStep = 2;   // of a cycle
constexpr std::size_t kWordsOfLine = 8;

// The network, as the tasks see it.
Router* routers = nullptr;
const Injection* injections = nullptr;
const std::uint32_t* first_injection = nullptr;
tracked<std::uint64_t>* arrival_cycles = nullptr;  // source by source, each on lines of its own
const std::uint64_t* first_arrival = nullptr;      // of each source, in `arrival_cycles`

template <TaskType type>
void step(std::uint32_t r);

/// In this cycle.
template <TaskType type>
void wake(std::uint32_t r) {
  const std::uint64_t at = timestamp() + kStep;
  if (routers[r].next_step == at) return;
  routers[r].next_step = at;
  create<type>(step<type>, {.at = at, .on = r}, r);
}

template <TaskType type>
void receive(std::uint32_t r, std::uint32_t link, Flit* flit, std::uint8_t channel, std::uint8_t credit) {
  routers[r].receive(link, flit, channel, credit);
  wake<type>(r);
}

/// The n-th packet of all; then the source's next one.
template <TaskType type>
void inject(std::uint32_t r, std::uint32_t n) {
  routers[r].inject(n, injections[n].destination);
  wake<type>(r);
  if (n + 1 == first_injection[r + 1]) return;
  create<type>(inject<type>, {.at = kCycle * injections[n + 1].cycle, .on = r}, r, n + 1);
}

void arrive(const Flit* flit) {
  const Packet* const packet = flit->packet;
  if (flit->is_tail()) {
    arrival_cycles[first_arrival[packet->source] + packet->number - first_injection[packet->source]] =
        timestamp() / kCycle;
    delete packet;
  }
  delete flit;
}

template <TaskType type>
void step(std::uint32_t r) {
  Router& router = routers[r];
  const Sent sent = router.step();
  const std::uint64_t next_cycle = timestamp() - kStep + kCycle;
  for (std::uint32_t link = 0; link < kLinks; ++link) {
    const Sent::Link& what = sent.links[link];
    if (what.flit == nullptr && what.credit == kNone) continue;
    const std::uint32_t to = neighbour(router, link);
    create<type>(receive<type>, {.at = next_cycle, .on = to}, to, opposite(link), what.flit, what.channel,
                 what.credit);
  }
  if (sent.arrived != nullptr) arrive(sent.arrived);
  if (!router.has_flits()) return;
  router.next_step = next_cycle + kStep;
  create<type>(step<type>, {.at = next_cycle + kStep, .on = r}, r);
}

template <TaskType type>
void run_all(std::uint32_t count) {
  create<type>(
      [](std::uint32_t all) {
        create_all<type>(std::uint32_t{0}, all, [](std::uint32_t r) {
          const std::uint32_t n = first_injection[r];
          if (n == first_injection[r + 1]) return;
          create<type>(inject<type>, {.at = kCycle * injections[n].cycle, .on = r}, r, n);
        });
      },
      {.at = 0}, count);
  run();
}

}  // namespace

Simulation simulate_by_tasks(const Network& network, const Schedule& schedule, TaskType type) {
  std::vector<Router> all = make_routers(network);
  std::vector<std::uint64_t> first_of_source;
  std::uint64_t words = 0;
  for (std::uint32_t r = 0; r < network.routers(); ++r) {
    first_of_source.push_back(words);
    const std::uint64_t packets = schedule.first[r + 1] - schedule.first[r];
    words += (packets + kWordsOfLine - 1) / kWordsOfLine * kWordsOfLine;
  }
  std::vector<tracked<std::uint64_t>> cycles(words);
  routers = all.data();
  injections = schedule.injections.data();
  first_injection = schedule.first.data();
  arrival_cycles = cycles.data();
  first_arrival = first_of_source.data();
  with_type(type, [&]<TaskType chosen> { run_all<chosen>(network.routers()); });
  Simulation result;
  for (std::uint32_t r = 0; r < network.routers(); ++r) {
    for (std::uint32_t n = schedule.first[r]; n < schedule.first[r + 1]; ++n)
      result.arrivals.push_back(cycles[first_of_source[r] + n - schedule.first[r]]);
    result.is_idle &= all[r].is_idle();
  }
  return result;
}

}  // namespace rubato::apps::nocsim
