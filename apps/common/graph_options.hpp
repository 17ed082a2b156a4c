// The options of graph applications: which graph to read or generate, and the vertex to start from.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "apps/common/graph.hpp"
#include "apps/common/graph_generator.hpp"
#include "apps/common/graph_reader.hpp"
#include "apps/common/options.hpp"

namespace rubato::apps {

struct GraphOptions {
  std::string file;
  std::string generate;
  GraphReaderOptions reader;
  std::uint64_t seed = 1;
};

/// --graph, --generate and --format.
void add_graph(CommandLine& line, GraphOptions& o);

/// Reads or generates, and prints its size. @throws InputError
Graph load_graph(const GraphOptions& o);

struct SourceOption {
  std::uint64_t id = 0;
  bool is_given = false;
};

void add_source(CommandLine& line, SourceOption& source);

/// @throws InputError if the graph has no such vertex.
std::uint32_t source_vertex(const SourceOption& option, const Graph& graph);

}  // namespace rubato::apps
