// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/bwtree/tree.hpp"

#include "bench/indexes/contestant.hpp"

namespace indexes {
namespace {

namespace bwtree = ycsb::index::bwtree;

template <unsigned entries, unsigned leaf_chain, unsigned inner_chain>
struct Sized : bwtree::Rules {
  static constexpr unsigned kEntries = entries, kLeafChain = leaf_chain, kInnerChain = inner_chain;
};
template <unsigned entries, unsigned leaf_chain, unsigned inner_chain>
constexpr auto kMake = make<bwtree::Tree<Sized<entries, leaf_chain, inner_chain>>>;

constexpr Entry kSizes[] = {
    {"bwtree", make<bwtree::Tree<>>},       {"bwtree-128-24-8", kMake<128, 24, 8>},
    {"bwtree-128-24-2", kMake<128, 24, 2>}, {"bwtree-128-8-2", kMake<128, 8, 2>},
    {"bwtree-64-24-2", kMake<64, 24, 2>},   {"bwtree-64-8-2", kMake<64, 8, 2>},
    {"bwtree-256-24-2", kMake<256, 24, 2>}, {"bwtree-32-8-2", kMake<32, 8, 2>},
};

}  // namespace

std::span<const Entry> bwtree_sizes() { return kSizes; }

}  // namespace indexes
