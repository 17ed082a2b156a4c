// SPDX-License-Identifier: MIT
// sssp: options, input, result. `sssp --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "apps/common/graph.hpp"
#include "apps/common/graph_generator.hpp"
#include "apps/common/graph_reader.hpp"
#include "apps/common/input_error.hpp"
#include "apps/common/options.hpp"
#include "apps/sssp/dijkstra.hpp"
#include "apps/sssp/sssp_tasks.hpp"

namespace rubato::apps {
namespace {

struct Options {
  std::string graph_file;
  std::string generate;
  GraphReaderOptions reader;
  std::uint64_t source = 0;
  bool has_source = false;
  std::uint64_t seed = 1;
  TaskType type = TaskType::mayspec;
  LocaleChoice locale = LocaleChoice::vertex;
  bool verify = false;
  bool is_serial = false;
};

void declare(CLI::App& app, Options& o) {
  app.set_help_flag("--help", "This text");
  auto* const file =
      app.add_option("--graph", o.graph_file,
                     "Graph to read, plain or gzip: DIMACS .gr, MatrixMarket .mtx, or an edge list with "
                     "lines 'TAIL HEAD [LENGTH]'");
  auto* const generate = app.add_option("--generate", o.generate,
                                        "Graph to make instead: road:WIDTHxHEIGHT (a road network; default "
                                        "road:100x100) or rmat:SCALE:DEGREE (a power-law graph)");
  generate->excludes(file)->type_name("WHAT");
  file->type_name("FILE");
  add_choice<GraphFormat>(app, "--format", o.reader.format,
                          {{"auto", GraphFormat::automatic},
                           {"gr", GraphFormat::gr},
                           {"mtx", GraphFormat::mtx},
                           {"edges", GraphFormat::edges}},
                          "Format of the file (default auto: by its name, else its first line)");
  app.add_option("--source", o.source,
                 "Vertex to start from, as the file numbers them: from 1 in .gr, .mtx and generated graphs, "
                 "from 0 in "
                 "edge lists (default: the first)")
      ->check(whole_number)
      ->each([&o](const std::string&) { o.has_source = true; })
      ->type_name("N");
  app.add_option("--seed", o.seed, "Seed of --generate (default 1)")->check(whole_number)->type_name("N");
  app.add_option("--scale", o.reader.scale, "Multiply the values of a real matrix by this and round them")
      ->check([](const std::string& text) {
        double factor = 0;
        const bool is_positive = CLI::detail::lexical_cast(text, factor) && factor > 0;
        return is_positive ? std::string() : "'" + text + "' is not a positive number";
      })
      ->type_name("FACTOR");
  app.add_flag("--unit-lengths", o.reader.unit_lengths,
               "Every arc has length 1, whatever the file or the generator says");
  add_choice<TaskType>(
      app, "--type", o.type,
      {{"mayspec", TaskType::mayspec}, {"spec", TaskType::spec}, {"nonspec", TaskType::nonspec}},
      "Type of the tasks (default mayspec)");
  add_choice<LocaleChoice>(app, "--locale", o.locale,
                           {{"vertex", LocaleChoice::vertex}, {"line", LocaleChoice::line}},
                           "Locale of a visit: the vertex (default) or its cache line");
  app.add_flag("--verify", o.verify, "Compare every distance with a serial Dijkstra; exit 1 if one differs");
  app.add_flag("--serial", o.is_serial, "Run only the serial Dijkstra, no tasks, for comparison");
  app.footer(
      "Examples:\n"
      "  sssp --generate road:300x300 --verify\n"
      "  sssp --graph california.gr --source 1 --type nonspec\n"
      "Prints vertices reached, the largest distance and the sum of all distances.");
}

std::uint32_t source_vertex(const Options& o, const Graph& graph) {
  const std::uint64_t source = o.has_source ? o.source : graph.first_id;
  if (source < graph.first_id || source - graph.first_id >= graph.vertices()) {
    throw InputError("--source " + std::to_string(source) + " is no vertex of this graph: they are " +
                     std::to_string(graph.first_id) + " to " +
                     std::to_string(std::uint64_t{graph.first_id} + graph.vertices() - 1));
  }
  return static_cast<std::uint32_t>(source - graph.first_id);
}

void print_summary(const std::vector<std::uint64_t>& distances) {
  std::uint64_t reached = 0, largest = 0, sum = 0;
  for (const std::uint64_t d : distances) {
    if (d == kUnset) continue;
    ++reached;
    sum += d;
    if (d > largest) largest = d;
  }
  std::printf("reached: %" PRIu64 "\nlargest distance: %" PRIu64 "\nsum of distances: %" PRIu64 "\n", reached,
              largest, sum);
}

/// Says the first difference, in the input's numbering.
bool check(const Graph& graph, const std::vector<std::uint64_t>& distances,
           const std::vector<std::uint64_t>& expected) {
  const auto text = [](std::uint64_t d) {
    return d == kUnset ? std::string("unreached") : std::to_string(d);
  };
  for (std::size_t v = 0; v < expected.size(); ++v) {
    if (distances[v] == expected[v]) continue;
    std::printf("vertex %zu: distance %s, but %s was expected\n", v + graph.first_id,
                text(distances[v]).c_str(), text(expected[v]).c_str());
    return false;
  }
  return true;
}

int run_sssp(const Options& o) {
  Graph graph = o.graph_file.empty()
                    ? generate_graph(o.generate.empty() ? "road:100x100" : o.generate, o.seed)
                    : read_graph(o.graph_file, o.reader);
  if (o.reader.unit_lengths) {
    for (Arc& arc : graph.arcs) arc.length = 1;
  }
  if (graph.vertices() == 0) throw InputError("the graph has no vertices");
  const std::uint32_t source = source_vertex(o, graph);
  std::printf("graph: %" PRIu32 " vertices, %zu arcs\n", graph.vertices(), graph.arcs.size());
  const auto distances = o.is_serial ? dijkstra(graph, source) : sssp(graph, source, o.type, o.locale);
  print_summary(distances);
  if (!o.verify) return 0;
  const bool passed = check(graph, distances, dijkstra(graph, source));
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  CLI::App app("Single-source shortest paths as ordered tasks (Espresso, Listing 1).", "sssp");
  rubato::apps::Options options;
  rubato::apps::declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return rubato::apps::run_sssp(options);
  } catch (const rubato::apps::InputError& e) {
    std::fprintf(stderr, "sssp: %s\n", e.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "sssp: not enough memory for this graph\n");
  }
  return 2;
}
