// Reads graphs in the formats their field uses, plain or gzip. Malformed input is refused with file and line.
//   gr      DIMACS shortest-path: `p sp VERTICES ARCS`, `a TAIL HEAD LENGTH`, vertices from 1
//   mtx     MatrixMarket coordinate matrices, square: pattern (length 1), integer, real; general or symmetric
//   edges   lines `TAIL HEAD [LENGTH [TIME]]`, comments with # or %, vertices from 0, length 1 if there is
//   none,
//           times (as KONECT writes them) are read and left out
//   metis   a header `VERTICES EDGES [FORMAT [WEIGHTS]]`, then a line for each vertex with its neighbours,
//           from 1, and their lengths if FORMAT ends with 1; comments with %
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "apps/common/graph.hpp"

namespace rubato::apps {

enum class GraphFormat { automatic, gr, mtx, edges, metis };

struct GraphReaderOptions {
  GraphFormat format = GraphFormat::automatic;
  /// Factor for all lengths, which are then rounded to whole ones; 0: no rounding, lengths that are not whole
  /// numbers are refused.
  double scale = 0;
  /// Every length is 1, whatever the file says.
  bool unit_lengths = false;
};

/// Automatic: by the file's name (without .gz), else by its first line.
/// @throws InputError, also if there are no vertices.
Graph read_graph(const std::string& path, const GraphReaderOptions& options);

}  // namespace rubato::apps
