// Reads the coordinates of a graph's vertices in the DIMACS format that goes with .gr, plain or gzip:
//   `p aux sp co VERTICES`, `v VERTEX X Y` with whole numbers, vertices from 1, each exactly once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

/// Coordinates of a graph of `vertices` vertices. @throws InputError with file and line.
std::vector<Point> read_coordinates(const std::string& path, std::uint32_t vertices);

}  // namespace rubato::apps
