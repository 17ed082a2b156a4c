// Graphs made from a seed, for runs without an input file.
//   road:WxH
//       looks like a road network: W x H junctions on a jittered grid, planar, connected, 2 to 4 roads at
//       each, both directions of one length, lengths so varied that few distances coincide
//   rmat:SCALE:DEGREE
//       a power-law graph of 2^SCALE vertices and DEGREE * 2^SCALE edges, both directions, with the
//       parameters of Graph500 (0.57, 0.19, 0.19, 0.05) and lengths 1 to 255: a few hubs have a good part of
//       all edges
//   band:VERTICES:DEGREE:WIDTH
//       as a sparse matrix with a band along its diagonal (those of DNA electrophoresis, for example):
//       connected, about DEGREE edges at every vertex and no hubs, both directions, each to a vertex at most
//       WIDTH away in the numbering, lengths 1 to 255; about WIDTH vertices have the same number of hops from
//       vertex 1
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

/// width, height >= 2, and at most 107,373 where positions are asked for. The same graph with and without.
Graph generate_road(std::uint32_t width, std::uint32_t height, std::uint64_t seed,
                    std::vector<Point>* positions = nullptr);

/// scale 1 to 30, degree >= 1, at most 2^32 - 2 arcs. R-MAT: Chakrabarti, Zhan, Faloutsos, SDM 2004.
Graph generate_rmat(unsigned scale, std::uint32_t degree, std::uint64_t seed);

/// vertices >= 2, degree >= 2, width 1 to vertices - 1, at most 2^32 - 2 arcs.
Graph generate_band(std::uint32_t vertices, std::uint32_t degree, std::uint32_t width, std::uint64_t seed);

/// Generates the graph that the text of --generate describes; `positions`, if given, gets those of the
/// vertices, or none if they have no place. @throws InputError, which says what was expected.
Graph generate_graph(const std::string& what, std::uint64_t seed, std::vector<Point>* positions = nullptr);

}  // namespace rubato::apps
