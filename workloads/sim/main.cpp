// sim: packets in a network, event by event, in place of SPEC's omnetpp (docs/workloads.md).
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <memory>

#include "workloads/common/workload.hpp"
#include "workloads/sim/simulation.hpp"

namespace rubato::workloads::sim {
namespace {

void verify(const Simulation<EventHeap>& simulation, const Sizes& sizes, std::uint64_t seed,
            std::uint64_t events) {
  const Totals& totals = simulation.totals();
  const std::uint64_t found = totals.received + totals.dropped + simulation.in_flight();
  if (found != totals.sent)
    throw WrongResult(std::to_string(totals.sent) + " packets were sent, and " + std::to_string(found) +
                      " are received, dropped or in flight");
  Simulation<PlainEvents> plain(sizes, seed);
  plain.run(events);
  if (plain.totals() != totals)
    throw WrongResult("the arrivals of packets have checksum " + std::to_string(totals.checksum) + ", and " +
                      std::to_string(plain.totals().checksum) + " with a sorted list of events");
}

void run(const Sizes& sizes, const WorkloadOptions& o) {
  std::vector<std::unique_ptr<Simulation<EventHeap>>> simulations(o.threads);
  run_in_region(o, [&](unsigned thread, std::uint64_t events, bool is_warm) {
    if (is_warm) simulations[thread] = std::make_unique<Simulation<EventHeap>>(sizes, o.seed + thread);
    simulations[thread]->run(events);
  });
  Totals all;
  std::uint64_t in_flight = 0;
  for (const auto& simulation : simulations) {
    const Totals& totals = simulation->totals();
    all.sent += totals.sent;
    all.received += totals.received;
    all.dropped += totals.dropped;
    all.checksum ^= totals.checksum;
    in_flight += simulation->in_flight();
  }
  std::printf("sim: %llu packets sent, %llu received, %llu dropped, %llu in flight, checksum %016llx\n",
              static_cast<unsigned long long>(all.sent), static_cast<unsigned long long>(all.received),
              static_cast<unsigned long long>(all.dropped), static_cast<unsigned long long>(in_flight),
              static_cast<unsigned long long>(all.checksum));
  if (!o.verify) return;
  for (unsigned t = 0; t < o.threads; ++t) verify(*simulations[t], sizes, o.seed + t, o.warm + o.work);
  std::puts("sim: verified");
}

}  // namespace
}  // namespace rubato::workloads::sim

int main(int argc, char** argv) {
  using namespace rubato::workloads;
  rubato::CommandLine line("sim",
                           "Packets in a network, event by event; each thread has a network of its own");
  WorkloadOptions options;
  options.threads = 1;
  options.warm = 100000;
  options.work = 25000;
  sim::Sizes sizes;
  add_workload_options(line, options, "events of each thread");
  line.add_option("--nodes", sizes.nodes, "Nodes of the network (default 1024)").range(2U, 16384U);
  line.add_option("--packets", sizes.packets, "Packets of a node at the beginning, on the mean (default 256)")
      .range(0U, 4096U);
  line.add_option("--queue", sizes.queue, "Packets that wait for a link, at most (default 128)")
      .range(1U, 65536U);
  return workload_main(
      "sim", line, [&] { sim::run(sizes, options); }, argc, argv);
}
