// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/bwtree/tree.hpp"
#include "apps/ycsb/index/index_variant.hpp"

namespace rubato::apps::ycsb {

std::unique_ptr<Variant> make_bwtree_variant() {
  return std::make_unique<index::IndexVariant<index::bwtree::Tree<>>>();
}

}  // namespace rubato::apps::ycsb
