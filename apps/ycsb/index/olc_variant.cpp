// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/index_variant.hpp"
#include "apps/ycsb/index/olc/tree.hpp"

namespace rubato::apps::ycsb {

std::unique_ptr<Variant> make_olc_variant() {
  return std::make_unique<index::IndexVariant<index::olc::Tree<>>>();
}

}  // namespace rubato::apps::ycsb
