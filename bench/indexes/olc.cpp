// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/olc/tree.hpp"

#include "bench/indexes/contestant.hpp"

namespace indexes {
namespace {

namespace olc = ycsb::index::olc;

/// Nodes of `block` bytes with the header of their memory.
template <unsigned block, unsigned window, unsigned fetched = 0>
struct Sized : olc::Rules {
  static constexpr unsigned kNodeBytes = block - 64, kWindow = window, kFetchedBytes = fetched;
};
template <unsigned block, unsigned window, unsigned fetched = 0>
constexpr auto kMake = make<olc::Tree<Sized<block, window, fetched>>>;

constexpr Entry kSizes[] = {
    {"olc", make<olc::Tree<>>},
    {"olc-4096-halving", kMake<4096, 0>},
    {"olc-4096", kMake<4096, 16>},
    {"olc-2048", kMake<2048, 16>},
    {"olc-1024-halving", kMake<1024, 0>},
    {"olc-1024-halving-fetched", kMake<1024, 0, 512>},
    {"olc-1024", kMake<1024, 16>},
    {"olc-1024-window-8", kMake<1024, 8>},
    {"olc-1024-fetched", kMake<1024, 16, 512>},
    {"olc-512", kMake<512, 16>},
    {"olc-512-fetched", kMake<512, 16, 448>},
    {"olc-512-halving-fetched", kMake<512, 0, 448>},
};

}  // namespace

std::span<const Entry> olc_sizes() { return kSizes; }

}  // namespace indexes
