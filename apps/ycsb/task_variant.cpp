// The tree on tasks, whose nodes lie anywhere.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/task_tree.hpp"

namespace rubato::apps::ycsb {

std::unique_ptr<Variant> make_task_variant(NumaPlacement* numa) {
  if (numa != nullptr) return make_placed_task_variant(*numa);
  return std::make_unique<task_tree::TaskVariant<Anywhere>>();
}

}  // namespace rubato::apps::ycsb
