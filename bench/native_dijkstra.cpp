// The serial binary-heap Dijkstra that sssp on one worker is held against: prints the seconds of the search
// alone.
//   build/release/bin/bench_native_dijkstra road:1000x1000
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdio>

#include "apps/common/graph_generator.hpp"
#include "apps/sssp/dijkstra.hpp"

int main(int argc, char** argv) {
  const rubato::apps::Graph graph = rubato::apps::generate_graph(argc > 1 ? argv[1] : "road:300x300", 1);
  const auto start = std::chrono::steady_clock::now();
  const auto distances = rubato::apps::dijkstra(graph, 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("{\"seconds\": %.9f, \"vertices\": %zu}\n", seconds, distances.size());
}
