// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/masstree/tree.hpp"

#include "bench/indexes/contestant.hpp"

namespace indexes {
namespace {

namespace masstree = ycsb::index::masstree;

template <unsigned width>
struct Sized : masstree::Rules {
  static constexpr unsigned kWidth = width;
};

constexpr Entry kSizes[] = {
    {"masstree", make<masstree::Tree<>>},
    {"masstree-11", make<masstree::Tree<Sized<11>>>},
    {"masstree-7", make<masstree::Tree<Sized<7>>>},
};

}  // namespace

std::span<const Entry> masstree_sizes() { return kSizes; }

}  // namespace indexes
