// SPDX-License-Identifier: MIT
#include "apps/common/graph_options.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "apps/common/input_error.hpp"

namespace rubato::apps {
namespace {

/// True of an edge list that seems to count vertices from 1: no arc names vertex 0.
bool misses_vertex_0(const Graph& graph) {
  return graph.first_id == 0 && graph.vertices() > 1 && graph.first_arc[1] == 0 &&
         std::none_of(graph.arcs.begin(), graph.arcs.end(), [](const Arc& arc) { return arc.head == 0; });
}

}  // namespace

void add_graph(CommandLine& line, GraphOptions& o) {
  const auto file =
      line.add_option("--graph", o.file,
                      "Graph to read, plain or gzip: DIMACS .gr, MatrixMarket .mtx, METIS .graph, or an "
                      "edge list with lines 'TAIL HEAD [LENGTH]'");
  const auto generate = line.add_option("--generate", o.generate,
                                        "Graph to make instead: road:WIDTHxHEIGHT (a road network; default "
                                        "road:100x100), rmat:SCALE:DEGREE (a power-law graph) or "
                                        "band:VERTICES:DEGREE:WIDTH (a band matrix: shallow, no hubs)");
  generate.excludes(file).type_name("WHAT");
  file.type_name("FILE");
  line.add_choice<GraphFormat>("--format", o.reader.format,
                               {{"auto", GraphFormat::automatic},
                                {"gr", GraphFormat::gr},
                                {"mtx", GraphFormat::mtx},
                                {"edges", GraphFormat::edges},
                                {"metis", GraphFormat::metis}},
                               "Format of the file (default auto: by its name, else its first line)");
}

Graph load_graph(const GraphOptions& o) {
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

void add_source(CommandLine& line, SourceOption& source) {
  line.add_option("--source", source.id,
                  "Vertex to start from, as the file numbers them: from 1 in .gr, .mtx and generated graphs, "
                  "from 0 in edge lists (default: the first)")
      .check(whole_number)
      .marks(source.is_given)
      .type_name("N");
}

std::uint32_t source_vertex(const SourceOption& option, const Graph& graph) {
  const std::uint64_t source = option.is_given ? option.id : graph.first_id;
  if (source < graph.first_id || source - graph.first_id >= graph.vertices()) {
    throw InputError("--source " + std::to_string(source) + " is no vertex of this graph: they are " +
                     std::to_string(graph.first_id) + " to " +
                     std::to_string(std::uint64_t{graph.first_id} + graph.vertices() - 1));
  }
  return static_cast<std::uint32_t>(source - graph.first_id);
}

}  // namespace rubato::apps
