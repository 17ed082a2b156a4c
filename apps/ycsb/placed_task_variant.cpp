// The tree on tasks, whose nodes lie on NUMA nodes.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/task_tree.hpp"

namespace rubato::apps::ycsb {

std::unique_ptr<Variant> make_placed_task_variant(NumaPlacement& numa) {
  OnNodes::placement = &numa;
  return std::make_unique<task_tree::TaskVariant<OnNodes>>();
}

}  // namespace rubato::apps::ycsb
