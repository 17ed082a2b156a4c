// SPDX-License-Identifier: MIT
// Iteration i has the timestamps 3i to 3i + 2. At 3i `assign` finds a point's nearest centre and creates
// `add` on that centre's locale. At 3i + 1 `divide` moves a centre into the middle of its points. At 3i + 2
// `decide` begins the next iteration. `add` touches nothing that `assign` does, so both share a
// timestamp. `divide` writes the positions of the next iteration, so that attempts ahead of the last `assign`
// do not conflict with it.
#include "apps/kmeans/kmeans_tasks.hpp"

#include <cstddef>
#include <limits>

#include "apps/common/task_type.hpp"
#include "base/line_allocator.hpp"

namespace rubato::apps::kmeans {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::uint64_t kSteps = 3;  // timestamps of an iteration

/// Rows of words, each of which begins on a cache line: tasks of different rows never meet in one.
template <class Word>
struct Rows {
  Word* words = nullptr;
  std::uint64_t stride = 0;
  Word* operator[](std::uint32_t row) const { return words + row * stride; }
};

/// Their memory.
template <class Word>
class RowStorage {
 public:
  RowStorage(std::uint32_t rows, std::uint64_t words)
      : stride_((words * sizeof(Word) + kLineBytes - 1) / kLineBytes * kLineBytes / sizeof(Word)),
        words_(rows * stride_) {}
  Rows<Word> rows() { return {words_.data(), stride_}; }

 private:
  std::uint64_t stride_;
  std::vector<Word, LineAllocator<Word>> words_;
};

/// The first words of a row of `sums`; the sums of the coordinates follow.
enum SumWord : std::uint32_t { kCount, kMoved, kFirstSum };

/// Data that all tasks share: arguments carry only numbers.
struct Shared {
  std::uint32_t points = 0;
  std::uint32_t centres = 0;
  std::uint32_t dimensions = 0;
  Search search;
  const Points* input = nullptr;
  Rows<tracked<std::uint32_t>> centre_of;  // a row a point
  Rows<tracked<Fixed>> positions;          // a row a centre, of even iterations, then of odd ones
  Rows<tracked<std::int64_t>> sums;        // a row a centre
  tracked<std::uint64_t> iterations = 0;
  tracked<std::uint64_t> moved = 0;  // in the last iteration
};
Shared shared;

/// Points have the first locales, then centres, then the one task that decides.
Locale locale_of_centre(std::uint32_t centre) { return std::uint64_t{shared.points} + centre; }
Locale locale_of_decision() { return std::uint64_t{shared.points} + shared.centres; }

/// Position of the centre in an iteration; `divide` writes those of the next one.
tracked<Fixed>* position_of(std::uint32_t centre, std::uint64_t iteration) {
  return shared.positions[centre + static_cast<std::uint32_t>(iteration % 2) * shared.centres];
}

void add(std::uint32_t centre, std::uint32_t point, std::uint32_t moved) {
  tracked<std::int64_t>* const row = shared.sums[centre];
  const Fixed* const coordinates = (*shared.input)[point];
  row[kCount] += 1;
  row[kMoved] += moved;
  for (std::uint32_t d = 0; d < shared.dimensions; ++d) row[kFirstSum + d] += coordinates[d];
}

std::uint32_t nearest_centre(const Fixed* coordinates) {
  const std::uint32_t dimensions = shared.dimensions;
  const std::uint64_t iteration = timestamp() / kSteps;
  std::uint32_t best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t c = 0; c < shared.centres; ++c) {
    const tracked<Fixed>* const position = position_of(c, iteration);
    std::int64_t distance = 0;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const std::int64_t difference = coordinates[d] - position[d];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  return best;
}

template <TaskType type>
void assign(std::uint32_t point) {
  const std::uint32_t centre = nearest_centre((*shared.input)[point]);
  tracked<std::uint32_t>& own = *shared.centre_of[point];
  const std::uint32_t moved = own != centre ? 1 : 0;
  if (moved != 0) own = centre;
  create<type>(add, {.at = timestamp(), .on = locale_of_centre(centre)}, centre, point, moved);
}

/// A centre without points stays where it is.
void divide(std::uint32_t centre) {
  tracked<std::int64_t>* const row = shared.sums[centre];
  const std::uint64_t iteration = timestamp() / kSteps;
  const tracked<Fixed>* const position = position_of(centre, iteration);
  tracked<Fixed>* const next = position_of(centre, iteration + 1);
  const std::int64_t count = row[kCount];
  for (std::uint32_t d = 0; d < shared.dimensions; ++d) {
    next[d] = count == 0 ? position[d].get() : static_cast<Fixed>(row[kFirstSum + d] / count);
    row[kFirstSum + d] = 0;
  }
  row[kCount] = 0;
}

template <TaskType type>
void create_iteration(std::uint64_t first);

template <TaskType type>
void decide() {
  std::uint64_t moved = 0;
  for (std::uint32_t c = 0; c < shared.centres; ++c) {
    tracked<std::int64_t>& own = shared.sums[c][kMoved];
    moved += static_cast<std::uint64_t>(own.get());
    own = 0;
  }
  const std::uint64_t iterations = timestamp() / kSteps + 1;
  shared.iterations = iterations;
  shared.moved = moved;
  if (goes_on(shared.search, shared.points, iterations, moved)) create_iteration<type>(timestamp() + 1);
}

/// `first`: the first of the iteration's timestamps. Three children: two trees and the decision.
template <TaskType type>
void create_iteration(std::uint64_t first) {
  create<type>(
      [](std::uint64_t at) {
        create_all<type>(
            std::uint32_t{0}, shared.points,
            [](std::uint32_t point, std::uint64_t when) {
              create<type>(assign<type>, {.at = when, .on = point}, point);
            },
            at);
      },
      {.at = first}, first);
  create<type>(
      [](std::uint64_t at) {
        create_all<type>(
            std::uint32_t{0}, shared.centres,
            [](std::uint32_t centre, std::uint64_t when) {
              create<type>(divide, {.at = when, .on = locale_of_centre(centre)}, centre);
            },
            at);
      },
      {.at = first}, first + 1);
  create<type>(decide<type>, {.at = first + 2, .on = locale_of_decision()});
}

}  // namespace

Clustering kmeans_by_tasks(const Points& points, const Search& search, TaskType type) {
  RowStorage<tracked<std::uint32_t>> centre_of(points.count, 1);
  RowStorage<tracked<Fixed>> positions(2 * search.centres, points.dimensions);
  RowStorage<tracked<std::int64_t>> sums(search.centres, std::uint64_t{kFirstSum} + points.dimensions);
  shared = Shared();
  shared.points = points.count;
  shared.centres = search.centres;
  shared.dimensions = points.dimensions;
  shared.search = search;
  shared.input = &points;
  shared.centre_of = centre_of.rows();
  shared.positions = positions.rows();
  shared.sums = sums.rows();
  for (std::uint32_t point = 0; point < points.count; ++point) *shared.centre_of[point] = kNoCentre;
  for (std::uint32_t c = 0; c < search.centres; ++c) {
    for (std::uint32_t d = 0; d < points.dimensions; ++d) position_of(c, 0)[d] = points[c][d];
  }
  with_type(type, []<TaskType chosen> {
    create_iteration<chosen>(0);
    run();
  });
  Clustering result;
  for (std::uint32_t c = 0; c < search.centres; ++c) {
    const tracked<Fixed>* const position = position_of(c, shared.iterations);
    result.centres.insert(result.centres.end(), position, position + points.dimensions);
  }
  for (std::uint32_t point = 0; point < points.count; ++point)
    result.centre_of.push_back(*shared.centre_of[point]);
  result.iterations = shared.iterations;
  result.moved = shared.moved;
  return result;
}

}  // namespace rubato::apps::kmeans
