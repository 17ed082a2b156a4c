// Report of --verify about a result that has a value for each vertex.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/common/graph.hpp"
#include "apps/common/options.hpp"

namespace rubato::apps {

/// Says the first difference, in the input's numbering, and whether the check passed. @returns the exit code.
/// @param difference  what to say of a vertex, given its value and the one that was expected
template <class Value, class Difference>
int check_vertices(const Graph& graph, const std::vector<Value>& result, const std::vector<Value>& expected,
                   Difference difference) {
  const auto [found, other] = std::mismatch(result.begin(), result.end(), expected.begin(), expected.end());
  if (found == result.end()) return report_check(true);
  const std::string sentence = difference(*found, *other);
  std::printf("vertex %zu: %s\n", static_cast<std::size_t>(found - result.begin()) + graph.first_id,
              sentence.c_str());
  return report_check(false);
}

}  // namespace rubato::apps
