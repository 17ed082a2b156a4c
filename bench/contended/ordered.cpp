// ordered KIND: small programs of ordered tasks without capsules. Their tasks meet often, so the throttle has
// to find out how far ahead it pays to speculate. For bench/speculation; on each engine.
//   format   500 tasks format a line each and add its length to one of 16 sums
//   list     1000 tasks append to a std::list, or take its first element, in order
//   blocks   a longest common subsequence, by 64 blocks: one timestamp an anti-diagonal
//   boruvka  rounds of Boruvka's algorithm, of five steps: 16 tasks and a timestamp each
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <list>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/contended/in_order.hpp"
#include "rubato/rubato.hpp"

namespace {

using contended::run_in_order;
using rubato::create, rubato::mayspec, rubato::tracked;

constexpr std::uint64_t kNone = ~std::uint64_t{0};

std::uint64_t drawn(std::uint64_t number) {
  const std::uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15;
  return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9 >> 20;
}

namespace format {
constexpr std::uint64_t kLines = 500, kSums = 16;
tracked<std::uint64_t> sums[kSums];

std::uint64_t length_of(std::uint64_t line) {
  std::array<char, 64> text{};
  return static_cast<std::uint64_t>(std::snprintf(text.data(), text.size(), "task %u of %d: %x",
                                                  static_cast<unsigned>(line), 500,
                                                  static_cast<unsigned>(line * 2654435761)));
}

bool passes() {
  run_in_order(kLines, [](std::uint64_t line) { sums[line % kSums] += length_of(line); });
  std::uint64_t expected = 0, sum = 0;
  for (std::uint64_t line = 0; line < kLines; ++line) expected += length_of(line);
  for (const auto& part : sums) sum += part;
  return sum == expected;
}
}  // namespace format

namespace list {
constexpr std::uint64_t kAtFirst = 8, kTasks = 1000;
std::list<std::uint64_t> elements;
tracked<std::uint64_t> sum;

bool passes() {
  for (std::uint64_t i = 0; i < kAtFirst; ++i) elements.push_back(i);
  std::list<std::uint64_t> expected = elements;
  run_in_order(kTasks, [](std::uint64_t at) {
    if (at % 2 == 0) return elements.push_back(at);
    sum += elements.front() * at;
    elements.pop_front();
  });
  std::uint64_t expected_sum = 0;
  for (std::uint64_t at = 0; at < kTasks; ++at) {
    if (at % 2 == 0) {
      expected.push_back(at);
    } else {
      expected_sum += expected.front() * at;
      expected.pop_front();
    }
  }
  return sum == expected_sum && elements == expected;
}
}  // namespace list

namespace blocks {
constexpr std::uint64_t kLength = 128, kSide = 16;
using Row = std::array<tracked<std::uint16_t>, kLength + 1>;
std::array<Row, kLength + 1> table;
std::array<char, kLength> one, other;

std::uint16_t best(bool is_same, std::uint16_t diagonal, std::uint16_t above, std::uint16_t left) {
  return is_same ? static_cast<std::uint16_t>(diagonal + 1) : std::max(above, left);
}

void fill(std::uint64_t row, std::uint64_t column) {
  for (std::uint64_t i = row * kSide + 1; i <= (row + 1) * kSide; ++i)
    for (std::uint64_t j = column * kSide + 1; j <= (column + 1) * kSide; ++j)
      table[i][j] = best(one[i - 1] == other[j - 1], table[i - 1][j - 1], table[i - 1][j], table[i][j - 1]);
}

bool passes() {
  for (std::uint64_t i = 0; i < kLength; ++i) {
    one[i] = static_cast<char>('a' + drawn(2 * i) % 4);
    other[i] = static_cast<char>('a' + drawn(2 * i + 1) % 4);
  }
  for (std::uint64_t row = 0; row < kLength / kSide; ++row)
    for (std::uint64_t column = 0; column < kLength / kSide; ++column)
      create<mayspec>(fill, {.at = row + column, .on = row}, row, column);
  rubato::run();
  std::array<std::array<std::uint16_t, kLength + 1>, kLength + 1> expected{};
  for (std::uint64_t i = 1; i <= kLength; ++i)
    for (std::uint64_t j = 1; j <= kLength; ++j)
      expected[i][j] =
          best(one[i - 1] == other[j - 1], expected[i - 1][j - 1], expected[i - 1][j], expected[i][j - 1]);
  return table[kLength][kLength] == expected[kLength][kLength];
}
}  // namespace blocks

namespace boruvka {
constexpr std::uint64_t kVertices = 256, kEdges = 768, kRounds = 4, kPart = 16;
struct Edge {
  std::uint64_t from, to, weight;
};
std::vector<Edge> edges;
tracked<std::uint64_t> component[kVertices], lightest[kVertices], parent[kVertices];

void clear(std::uint64_t part) {
  for (std::uint64_t i = part * kPart; i < (part + 1) * kPart; ++i) lightest[i] = kNone;
}

void find(std::uint64_t part) {
  for (std::uint64_t e = 0; e < edges.size(); ++e) {
    const std::uint64_t x = component[edges[e].from], y = component[edges[e].to];
    if (x == y) continue;
    for (const std::uint64_t end : {x, y})
      if (end / kPart == part && (lightest[end] == kNone || edges[e].weight < edges[lightest[end]].weight))
        lightest[end] = e;
  }
}

void hook(std::uint64_t part) {
  for (std::uint64_t i = part * kPart; i < (part + 1) * kPart; ++i) {
    parent[i] = i;
    if (component[i] != i || lightest[i] == kNone) continue;
    const std::uint64_t x = component[edges[lightest[i]].from], y = component[edges[lightest[i]].to];
    const std::uint64_t neighbour = x == i ? y : x;
    if (lightest[neighbour] != lightest[i] || neighbour < i) parent[i] = neighbour;
  }
}

void jump(std::uint64_t part) {
  for (std::uint64_t i = part * kPart; i < (part + 1) * kPart; ++i) {
    std::uint64_t root = component[i];
    while (parent[root] != root) root = parent[root];
    lightest[i] = root;
  }
}

void rename(std::uint64_t part) {
  for (std::uint64_t i = part * kPart; i < (part + 1) * kPart; ++i) component[i] = std::uint64_t{lightest[i]};
}

bool passes() {
  for (std::uint64_t i = 0; i < kEdges; ++i)
    edges.push_back({i % kVertices, drawn(i) % kVertices, drawn(i) / kVertices % 100'000 * kEdges + i});
  for (std::uint64_t i = 0; i < kVertices; ++i) component[i] = parent[i] = i;
  for (std::uint64_t round = 0; round < kRounds; ++round)
    for (std::uint64_t part = 0; part < kVertices / kPart; ++part) {
      std::uint64_t at = round * 5;
      for (const auto step : {clear, find, hook, jump, rename})
        create<mayspec>(step, {.at = at++, .on = part}, part);
    }
  rubato::run();
  // Connected vertices by a search; each round at least halves the components that are not whole yet.
  std::array<std::uint64_t, kVertices> label{};
  for (std::uint64_t i = 0; i < kVertices; ++i) label[i] = i;
  for (bool changes = true; std::exchange(changes, false);)
    for (const Edge& e : edges)
      if (label[e.from] != label[e.to]) {
        label[e.from] = label[e.to] = std::min(label[e.from], label[e.to]);
        changes = true;
      }
  std::set<std::uint64_t> found, connected;
  bool passed = true;
  for (std::uint64_t i = 0; i < kVertices; ++i) {
    found.insert(component[i]);
    connected.insert(label[i]);
    passed = passed && label[i] == label[component[i]];
  }
  return passed && found.size() < connected.size() + kVertices / (1U << kRounds);
}
}  // namespace boruvka

}  // namespace

int main(int argc, char** argv) {
  constexpr std::pair<std::string_view, bool (*)()> kKinds[] = {{"format", format::passes},
                                                                {"list", list::passes},
                                                                {"blocks", blocks::passes},
                                                                {"boruvka", boruvka::passes}};
  for (const auto& [name, passes] : kKinds) {
    if (argc != 2 || name != argv[1]) continue;
    const bool passed = passes();
    std::printf("check: %s\n", passed ? "passed" : "failed");
    return passed ? 0 : 1;
  }
  return std::fputs("usage: ordered format|list|blocks|boruvka\n", stderr), 2;
}
