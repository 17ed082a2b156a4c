// labyrinth: paths are laid in a maze, none across another. A transaction copies the maze without barriers
// and looks for a way in its copy. Then it claims the cells of the way in the maze itself, if they are still
// free. After the description of STAMP (Cao Minh et al., IISWC 2008); T68.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/input_error.hpp"
#include "apps/stamp/common/program.hpp"
#include "apps/stamp/labyrinth/grid.hpp"
#include "apps/stamp/structure/queue.hpp"
#include "base/rng.hpp"

namespace rubato::apps::stamp::labyrinth {
namespace {

class Labyrinth final : public Program {
 public:
  explicit Labyrinth(const Settings& settings)
      : shape_{static_cast<std::uint32_t>(settings["x"]), static_cast<std::uint32_t>(settings["y"]),
               static_cast<std::uint32_t>(settings["z"])},
        grid_(shape_.cells(), kFree),
        outcomes_(settings["paths"], Outcome::kOpen),
        paths_(settings["paths"]) {
    if (2 * settings["paths"] > shape_.cells())
      throw InputError("" + std::to_string(settings["paths"]) +
                       " paths have more ends than the maze has cells (" + std::to_string(shape_.cells()) +
                       ")");
    Rng rng(settings.seed);
    for (std::uint32_t i = 0; i < settings["paths"]; ++i) {
      const Cell from = claim_end(i, rng), to = claim_end(i, rng);
      routes_.push_back({from, to, i});
    }
    // Long paths first, since short ones still fit in between.
    std::stable_sort(routes_.begin(), routes_.end(),
                     [this](const Route& a, const Route& b) { return length(a) > length(b); });
    for (const Route& route : routes_) to_do_.push(route);
    for (unsigned i = 0; i < settings.threads; ++i) pictures_.push_back(std::make_unique<Picture>(shape_));
  }

  void work(Worker& worker) override {
    Picture& picture = *pictures_[worker.index()];
    for (Route route{}; next(route);) {
      outcomes_[route.number] = lay(route, picture) ? Outcome::kLaid : Outcome::kNoWay;
      if (outcomes_[route.number] == Outcome::kLaid) {
        for (std::uint64_t i = 0; i < picture.path_size(); ++i)
          paths_[route.number].push_back(picture.path_cell(i));
      }
    }
  }

  /// Cells are never freed: a path that found no way has none at the end.
  std::string check() override {
    std::vector<Mark> expected(shape_.cells(), kFree);
    for (const Route& route : routes_) {
      if (outcomes_[route.number] == Outcome::kOpen)
        return "path " + std::to_string(route.number) + " was forgotten";
      expected[route.from] = expected[route.to] = route.mark();
      Cell last = route.to;
      for (const Cell cell : paths_[route.number]) {
        if (expected[cell] != kFree) return "two paths cross in cell " + std::to_string(cell);
        expected[cell] = route.mark();
        if (!are_neighbours(last, cell)) return "path " + std::to_string(route.number) + " is broken";
        last = cell;
      }
      if (outcomes_[route.number] == Outcome::kLaid && !are_neighbours(last, route.from))
        return "path " + std::to_string(route.number) + " does not reach its source";
    }
    if (expected != grid_) return "the maze shows other paths than were laid";
    Picture picture(shape_);
    for (const Route& route : routes_) {
      if (outcomes_[route.number] != Outcome::kNoWay) continue;
      picture.copy(grid_.data());
      if (picture.find(route)) return "path " + std::to_string(route.number) + " was given up, but has a way";
    }
    return "";
  }

  std::uint64_t digest() override {
    std::uint64_t hash = 0;
    for (const Mark mark : grid_) hash = mix64(hash ^ mark);
    return hash;
  }

 private:
  enum class Outcome : std::uint8_t { kOpen, kLaid, kNoWay };

  Cell claim_end(std::uint32_t number, Rng& rng) {
    for (;;) {
      const auto cell = static_cast<Cell>(rng.below(shape_.cells()));
      if (grid_[cell] != kFree) continue;
      grid_[cell] = number + 1;
      return cell;
    }
  }
  std::int64_t length(const Route& route) const {
    const auto apart = [](std::uint32_t a, std::uint32_t b) { return std::int64_t{a > b ? a - b : b - a}; };
    const std::uint32_t plane = shape_.x * shape_.y;
    return apart(route.from % shape_.x, route.to % shape_.x) +
           apart(route.from / shape_.x % shape_.y, route.to / shape_.x % shape_.y) +
           apart(route.from / plane, route.to / plane);
  }
  bool are_neighbours(Cell a, Cell b) const {
    bool are = false;
    for_each_neighbour(shape_, a, [&](Cell neighbour) { are = are || neighbour == b; });
    return are;
  }

  bool next(Route& route) {
    bool is_there = false;
    __transaction_atomic { is_there = to_do_.pop(route); }
    return is_there;
  }

  /// @returns false if there is no way.
  bool lay(const Route& route, Picture& picture) {
    Mark* const grid = grid_.data();
    bool is_laid = false;
    __transaction_atomic {
      picture.copy(grid);
      bool has_way = picture.find(route);
      // The copy may show values that others have not yet committed, or will undo. A way is used if its cells
      // are free. The absence of a way is believed only of a copy that was read with barriers.
      if (!has_way || !is_free(grid, picture)) {
        for (Cell cell = 0; cell < shape_.cells(); ++cell) picture.set(cell, grid[cell]);
        has_way = picture.find(route);
      }
      is_laid = has_way;
      if (has_way) {
        const std::uint64_t size = picture.path_size();
        for (std::uint64_t i = 0; i < size; ++i) grid[picture.path_cell(i)] = route.mark();
      }
    }
    return is_laid;
  }
  static bool is_free(const Mark* grid, const Picture& picture) {
    const std::uint64_t size = picture.path_size();
    for (std::uint64_t i = 0; i < size; ++i) {
      if (grid[picture.path_cell(i)] != kFree) return false;
    }
    return true;
  }

  Shape shape_;
  std::vector<Mark> grid_;
  std::vector<Outcome> outcomes_;
  std::vector<std::vector<Cell>> paths_;  // of each route, from its target back to its source
  std::vector<Route> routes_;
  std::vector<std::unique_ptr<Picture>> pictures_;
  alignas(64) Queue<Route> to_do_;
};

const Description kDescription{
    .name = "labyrinth",
    .summary = "STAMP's router: paths are laid in a maze, each in one transaction.",
    .parameters = {{"x", 256, 32, 2, 4'096, "cells in the first dimension"},
                   {"y", 256, 32, 2, 4'096, "in the second"},
                   {"z", 5, 3, 1, 64, "in the third"},
                   {"paths", 256, 48, 1, 1'000'000, "paths to be laid"}},
    .make = [](const Settings& settings) -> std::unique_ptr<Program> {
      return std::make_unique<Labyrinth>(settings);
    }};

}  // namespace
}  // namespace rubato::apps::stamp::labyrinth

int main(int argc, char** argv) {
  return rubato::apps::stamp::run(rubato::apps::stamp::labyrinth::kDescription, argc, argv);
}
