// From the type of tasks that a user chose to the one that tasks are compiled with.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/rubato.hpp"

namespace rubato::apps {

/// Calls run.operator()<type>().
template <class Run>
void with_type(TaskType type, Run run) {
  switch (type) {
    case TaskType::spec:
      return run.template operator()<TaskType::spec>();
    case TaskType::nonspec:
      return run.template operator()<TaskType::nonspec>();
    case TaskType::mayspec:
      return run.template operator()<TaskType::mayspec>();
  }
}

}  // namespace rubato::apps
