// See numa.hpp.
// SPDX-License-Identifier: MIT
#include "native/topology/numa.hpp"

#if defined(RUBATO_HAS_HWLOC)

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "native/topology/hwloc_machine.hpp"

namespace rubato::inline v0::native {

std::vector<unsigned> memory_nodes() {
  std::vector<unsigned> nodes;
  const HwlocMachine& machine = hwloc_machine();
  if (!machine.is_loaded) return nodes;
  const hwloc_const_nodeset_t all = hwloc_topology_get_topology_nodeset(machine.topology);
  for (int node = hwloc_bitmap_first(all); node >= 0; node = hwloc_bitmap_next(all, node))
    nodes.push_back(static_cast<unsigned>(node));
  return nodes;
}

std::map<unsigned, unsigned> described_nodes() {
  std::map<unsigned, unsigned> nodes;
  if (std::getenv("HWLOC_SYNTHETIC") == nullptr && std::getenv("HWLOC_XMLFILE") == nullptr) return nodes;
  const HwlocMachine& machine = hwloc_machine();
  if (!machine.is_loaded) return nodes;
  for (hwloc_obj_t cpu = nullptr;
       (cpu = hwloc_get_next_obj_by_type(machine.topology, HWLOC_OBJ_PU, cpu)) != nullptr;) {
    const int node = hwloc_bitmap_first(cpu->nodeset);
    if (node >= 0) nodes[cpu->os_index] = static_cast<unsigned>(node);
  }
  return nodes;
}

namespace {

/// Addresses of a node that no pages have had. 0: it has no more.
std::uintptr_t take_addresses(std::size_t bytes, unsigned node) {
  constexpr std::uint64_t kPage = 4096, kHugePage = std::uint64_t{2} << 20;
  static std::array<std::atomic<std::uint64_t>, NodeAddresses::kNodes> taken;
  if (node >= NodeAddresses::kNodes) return 0;
  const std::uint64_t unit = bytes < kHugePage ? kPage : kHugePage;
  std::uint64_t before = taken[node].load(std::memory_order_relaxed), begin = 0;
  do {
    begin = (before + unit - 1) / unit * unit;
    if (begin + bytes > NodeAddresses::kBytes) return 0;
  } while (!taken[node].compare_exchange_weak(before, begin + bytes, std::memory_order_relaxed));
  return NodeAddresses::kFirst + node * NodeAddresses::kBytes + begin;
}

}  // namespace

void* map_on_node(std::size_t bytes, unsigned node) {
  const HwlocMachine& machine = hwloc_machine();
  if (!machine.is_loaded || hwloc_get_numanode_obj_by_os_index(machine.topology, node) == nullptr)
    return nullptr;
  void* const pages = mmap(reinterpret_cast<void*>(take_addresses(bytes, node)), bytes,
                           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  const hwloc_bitmap_t set = hwloc_bitmap_alloc();
  hwloc_bitmap_only(set, node);
  const bool is_bound = hwloc_set_area_membind(machine.topology, pages, bytes, set, HWLOC_MEMBIND_BIND,
                                               HWLOC_MEMBIND_BYNODESET) == 0;
  hwloc_bitmap_free(set);
  if (is_bound) return pages;
  munmap(pages, bytes);
  return nullptr;
}

}  // namespace rubato::inline v0::native

#else

namespace rubato::inline v0::native {

std::vector<unsigned> memory_nodes() { return {}; }
std::map<unsigned, unsigned> described_nodes() { return {}; }
void* map_on_node(std::size_t, unsigned) { return nullptr; }

}  // namespace rubato::inline v0::native

#endif
