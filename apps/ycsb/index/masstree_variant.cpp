// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/index_variant.hpp"
#include "apps/ycsb/index/masstree/tree.hpp"

namespace rubato::apps::ycsb {

std::unique_ptr<Variant> make_masstree_variant() {
  return std::make_unique<index::IndexVariant<index::masstree::Tree<>>>();
}

}  // namespace rubato::apps::ycsb
