// The options of graph applications: which graph to read or generate, and the vertex to start from.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
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
inline void add_graph(CLI::App& app, GraphOptions& o) {
  auto* const file =
      app.add_option("--graph", o.file,
                     "Graph to read, plain or gzip: DIMACS .gr, MatrixMarket .mtx, or an edge list with "
                     "lines 'TAIL HEAD [LENGTH]'");
  auto* const generate = app.add_option("--generate", o.generate,
                                        "Graph to make instead: road:WIDTHxHEIGHT (a road network; default "
                                        "road:100x100), rmat:SCALE:DEGREE (a power-law graph) or "
                                        "band:VERTICES:DEGREE:WIDTH (a band matrix: shallow, no hubs)");
  generate->excludes(file)->type_name("WHAT");
  file->type_name("FILE");
  add_choice<GraphFormat>(app, "--format", o.reader.format,
                          {{"auto", GraphFormat::automatic},
                           {"gr", GraphFormat::gr},
                           {"mtx", GraphFormat::mtx},
                           {"edges", GraphFormat::edges}},
                          "Format of the file (default auto: by its name, else its first line)");
}

inline CLI::Option* add_seed(CLI::App& app, std::uint64_t& seed, const std::string& help) {
  return app.add_option("--seed", seed, help)->check(whole_number)->type_name("N");
}

/// True of an edge list that seems to count vertices from 1: no arc names vertex 0.
inline bool misses_vertex_0(const Graph& graph) {
  return graph.first_id == 0 && graph.vertices() > 1 && graph.first_arc[1] == 0 &&
         std::none_of(graph.arcs.begin(), graph.arcs.end(), [](const Arc& arc) { return arc.head == 0; });
}

/// Reads or generates, and prints its size. @throws InputError
inline Graph load_graph(const GraphOptions& o) {
  Graph graph = o.file.empty() ? generate_graph(o.generate.empty() ? "road:100x100" : o.generate, o.seed)
                               : read_graph(o.file, o.reader);
  if (o.reader.unit_lengths) {
    for (Arc& arc : graph.arcs) arc.length = 1;
  }
  std::printf("graph: %" PRIu32 " vertices, %zu arcs\n", graph.vertices(), graph.arcs.size());
  if (!o.file.empty() && misses_vertex_0(graph)) {
    std::fprintf(
        stderr,
        "note: no arc of %s names vertex 0. Edge lists count from 0; if this one counts from 1, vertex 0 "
        "is one too many, and a search begins at 1 with --source 1.\n",
        o.file.c_str());
  }
  return graph;
}

struct SourceOption {
  std::uint64_t id = 0;
  bool is_given = false;
};

inline void add_source(CLI::App& app, SourceOption& source) {
  app.add_option("--source", source.id,
                 "Vertex to start from, as the file numbers them: from 1 in .gr, .mtx and generated graphs, "
                 "from 0 in edge lists (default: the first)")
      ->check(whole_number)
      ->each([&source](const std::string&) { source.is_given = true; })
      ->type_name("N");
}

/// @throws InputError if the graph has no such vertex.
inline std::uint32_t source_vertex(const SourceOption& option, const Graph& graph) {
  const std::uint64_t source = option.is_given ? option.id : graph.first_id;
  if (source < graph.first_id || source - graph.first_id >= graph.vertices()) {
    throw InputError("--source " + std::to_string(source) + " is no vertex of this graph: they are " +
                     std::to_string(graph.first_id) + " to " +
                     std::to_string(std::uint64_t{graph.first_id} + graph.vertices() - 1));
  }
  return static_cast<std::uint32_t>(source - graph.first_id);
}

}  // namespace rubato::apps
