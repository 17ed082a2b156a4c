// Places of the task tree's nodes, and of the visits to them: a policy of the tree (task_tree.hpp). A
// place makes nodes, and says of a link where the visits run:
//
//   Link make(options, level, use)         a node
//   resource<Node> resource_of(link)       the node's handle
//   std::optional<std::uint32_t> numa_of(link)   `.numa` of its visits
//   void note_visit(link)                  a worker visits the node
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "apps/ycsb/node.hpp"
#include "apps/ycsb/numa_placement.hpp"
#include "rubato/numa.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::ycsb {

/// Whether all requests visit the node.
enum class Use : std::uint8_t { part, root };

/// Nodes lie anywhere, and their visits run anywhere. Costs a visit nothing.
struct Anywhere {
  static Link make(const ResourceOptions& options, unsigned level, Use /*use*/) {
    return Link(std::bit_cast<std::uint64_t>(make_resource<Node>(options, level)));
  }
  static resource<Node> resource_of(Link link) { return std::bit_cast<resource<Node>>(link.handle()); }
  static constexpr std::optional<std::uint32_t> numa_of(Link /*link*/) { return std::nullopt; }
  static void note_visit(Link /*link*/) {}
};

/// Nodes lie where `placement` says, and their visits run on the workers there. The link has the number of
/// the NUMA node in the bits that resources leave free, so that a visit is created without a look at its
/// node. Visits of the root run anywhere: each request begins there, and each worker has the root in its
/// caches.
struct OnNodes {
  inline static NumaPlacement* placement = nullptr;  ///< as long as there are nodes

  static Link make(const ResourceOptions& options, unsigned level, Use use) {
    const unsigned numa = placement->next();
    const auto node = std::bit_cast<std::uint64_t>(make_resource_on<Node>(numa, options, level));
    return Link(use == Use::root ? node : node | std::uint64_t{numa + 1} << kNumaShift);
  }
  static resource<Node> resource_of(Link link) {
    return std::bit_cast<resource<Node>>(link.handle() & ((std::uint64_t{1} << kNumaShift) - 1));
  }
  static std::optional<std::uint32_t> numa_of(Link link) {
    const auto numa = static_cast<std::uint32_t>(link.word() >> kNumaShift);
    return numa == 0 ? std::nullopt : std::optional(numa - 1);
  }
  static void note_visit(Link link) {
    if (const auto numa = numa_of(link)) placement->note_visit(*numa);
  }

 private:
  static constexpr unsigned kNumaShift = 48 + engine::kHintBits + 3;  // address, options: resource.hpp
  static_assert(std::uint64_t{NumaPlacement::kLargestNode + 1} >> (64 - kNumaShift) == 0);
};

}  // namespace rubato::apps::ycsb
