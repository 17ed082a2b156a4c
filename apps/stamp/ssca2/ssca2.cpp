// ssca2: kernel 1 of the Scalable Synthetic Compact Applications 2: from a list of edges to arrays of the
// neighbours of each vertex, those that edges lead to and those that they come from. A transaction adds one
// edge. After the description of STAMP (Cao Minh et al., IISWC 2008); T68.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/input_error.hpp"
#include "apps/stamp/common/program.hpp"
#include "apps/stamp/ssca2/edges.hpp"

namespace rubato::apps::stamp::ssca2 {
namespace {

/// Edges that come to one vertex, while their number is not yet known; more are in the next block.
struct Block {
  static constexpr std::uint64_t kEdges = 16;
  std::uint32_t edge[kEdges];
  Block* next;
};

struct Neighbour {
  Vertex vertex;
  std::uint32_t weight;
  auto operator<=>(const Neighbour&) const = default;
};

/// The neighbours of vertex v are list[first[v]] to list[first[v + 1] - 1].
struct Adjacency {
  std::vector<std::uint64_t> first;
  std::vector<Neighbour> list;
  explicit Adjacency(std::uint64_t vertices) : first(vertices + 1) {}
};

class Ssca2 final : public Program {
 public:
  explicit Ssca2(const Settings& settings)
      : vertices_(std::uint64_t{1} << settings["scale"]),
        threads_(settings.threads),
        edges_(clique_edges({vertices_, settings["clique"], settings["parallel"]}, settings.seed)),
        out_degree_(vertices_),
        in_degree_(vertices_),
        rank_(edges_.size()),
        incoming_(vertices_),
        part_sum_(threads_ + 1),
        out_(vertices_),
        in_(vertices_) {
    out_.list.resize(edges_.size());
    in_.list.resize(edges_.size());
  }
  ~Ssca2() override {
    for (Block* block : incoming_) {
      while (block != nullptr) delete std::exchange(block, block->next);
    }
  }

  void work(Worker& worker) override {
    const auto [first, last] = worker.share(edges_.size());
    for (std::uint64_t e = first; e < last; ++e) count_outgoing(static_cast<std::uint32_t>(e));
    for (std::uint64_t e = first; e < last; ++e) note_incoming(static_cast<std::uint32_t>(e));
    worker.wait_for_all();
    sum_up(worker, out_degree_, out_);
    sum_up(worker, in_degree_, in_);
    for (std::uint64_t e = first; e < last; ++e) {
      const Edge& edge = edges_[e];
      out_.list[out_.first[edge.from] + rank_[e]] = {edge.to, edge.weight};
    }
    const auto [from, to] = worker.share(vertices_);
    for (std::uint64_t v = from; v < to; ++v) collect_incoming(v);
  }

  std::string check() override {
    std::vector<Edge> sorted = edges_;
    const std::string wrong = compare(sorted, out_, &Edge::from, &Edge::to);
    if (!wrong.empty()) return "outgoing " + wrong;
    const std::string also_wrong = compare(sorted, in_, &Edge::to, &Edge::from);
    return also_wrong.empty() ? "" : "incoming " + also_wrong;
  }

  std::uint64_t digest() override {  // check() has sorted the lists
    std::uint64_t hash = 0;
    for (const Neighbour& n : out_.list) hash = mix64(hash ^ (n.vertex + (std::uint64_t{n.weight} << 32)));
    for (const std::uint64_t index : in_.first) hash = mix64(hash ^ index);
    return hash;
  }

 private:
  void count_outgoing(std::uint32_t e) {
    const Vertex from = edges_[e].from;
    std::uint32_t rank = 0;
    __transaction_atomic {
      rank = out_degree_[from];
      out_degree_[from] = rank + 1;
    }
    rank_[e] = rank;
  }
  void note_incoming(std::uint32_t e) {
    const Vertex to = edges_[e].to;
    __transaction_atomic {
      const std::uint32_t degree = in_degree_[to];
      in_degree_[to] = degree + 1;
      const std::uint64_t place = degree % Block::kEdges;
      Block* block = incoming_[to];
      if (place == 0) {
        Block* const more = new Block;
        more->next = block;
        incoming_[to] = block = more;
      }
      block->edge[place] = e;
    }
  }
  /// first[v] = the sum of the degrees before v, by a part of the vertices a thread.
  void sum_up(Worker& worker, const std::vector<std::uint32_t>& degree, Adjacency& adjacency) {
    const auto [from, to] = worker.share(vertices_);
    std::uint64_t sum = 0;
    for (std::uint64_t v = from; v < to; ++v) sum += degree[v];
    part_sum_[worker.index() + 1] = sum;
    worker.wait_for_all();
    std::uint64_t before = 0;
    for (unsigned i = 0; i <= worker.index(); ++i) before += part_sum_[i];
    for (std::uint64_t v = from; v < to; ++v) {
      adjacency.first[v] = before;
      before += degree[v];
    }
    if (to == vertices_) adjacency.first[vertices_] = before;
    worker.wait_for_all();
  }
  void collect_incoming(std::uint64_t v) {
    std::uint64_t left = in_degree_[v];
    for (const Block* block = incoming_[v]; left > 0; block = block->next) {
      for (std::uint64_t place = (left - 1) % Block::kEdges + 1; place > 0; --place) {
        const Edge& edge = edges_[block->edge[place - 1]];
        in_.list[in_.first[v] + --left] = {edge.from, edge.weight};
      }
    }
  }

  /// Sorts the edges, and the neighbours of each vertex; then both lists are the same.
  std::string compare(std::vector<Edge>& edges, Adjacency& adjacency, Vertex Edge::*here,
                      Vertex Edge::*there) const {
    std::sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
      return std::tuple(a.*here, a.*there, a.weight) < std::tuple(b.*here, b.*there, b.weight);
    });
    if (adjacency.first[vertices_] != edges.size()) return "edges were lost";
    std::uint64_t e = 0;
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      const auto begin = adjacency.list.begin();
      std::sort(begin + static_cast<std::ptrdiff_t>(adjacency.first[v]),
                begin + static_cast<std::ptrdiff_t>(adjacency.first[v + 1]));
      for (std::uint64_t i = adjacency.first[v]; i < adjacency.first[v + 1]; ++i, ++e) {
        const Neighbour expected{edges[e].*there, edges[e].weight};
        if (edges[e].*here != v || adjacency.list[i] != expected)
          return "edges of vertex " + std::to_string(v) + " differ from a serial run's";
      }
    }
    return "";
  }

  std::uint64_t vertices_;
  unsigned threads_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> out_degree_, in_degree_;
  std::vector<std::uint32_t> rank_;  // of each edge among those that leave the same vertex
  std::vector<Block*> incoming_;
  std::vector<std::uint64_t> part_sum_;
  Adjacency out_, in_;
};

const Description kDescription{
    .name = "ssca2",
    .summary = "STAMP's graph kernel: edges are added to arrays of neighbours.",
    .parameters = {{"scale", 18, 10, 1, 26, "there are 2^scale vertices"},
                   {"clique", 12, 12, 1, 1'024, "vertices of the largest clique"},
                   {"parallel", 3, 3, 1, 64, "most edges from one vertex to another"}},
    .make = [](const Settings& settings) -> std::unique_ptr<Program> {
      return std::make_unique<Ssca2>(settings);
    }};

}  // namespace
}  // namespace rubato::apps::stamp::ssca2

int main(int argc, char** argv) {
  return rubato::apps::stamp::run(rubato::apps::stamp::ssca2::kDescription, argc, argv);
}
