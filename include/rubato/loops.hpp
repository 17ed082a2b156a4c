// Loops beside those of algorithms.hpp: with a step, over a container, and over two dimensions in tiles. In a
// task they have a continuation, as there. Not part of rubato.hpp: include it where it is used.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include "rubato/algorithms.hpp"
#include "rubato/annotations.hpp"
#include "rubato/errors.hpp"

namespace rubato::inline v0 {
namespace engine {

/// How many steps there are from `begin` to `end`. Unsigned: the difference may be too large for Index.
template <class Index>
std::uint64_t steps_of(Index begin, Index end, std::uint64_t step) {
  const std::uint64_t size = blocked_range<Index>(begin, end).size();
  return size / step + (size % step != 0 ? 1 : 0);
}

/// Errors: TaskError for a step that does not go up.
template <class Step>
std::uint64_t checked_step(Step step) {
  if (!(step > 0)) misuse(errors::step_not_positive(static_cast<long long>(step)));
  return static_cast<std::uint64_t>(step);
}

template <class Index, class Body>
struct EachStep {
  void operator()(const blocked_range<std::uint64_t>& steps) const {
    for (std::uint64_t i = steps.begin(); i != steps.end(); ++i) body(advanced(first, i * step));
  }
  Index first;
  std::uint64_t step;
  Body body;
};
template <class Index, class Body>
struct BodyOfFor<EachStep<Index, Body>> {
  using type = Body;
};

template <class Tiles, class Body>
struct EachTile {
  void operator()(const blocked_range<std::uint64_t>& tiles) const {
    for (std::uint64_t i = tiles.begin(); i != tiles.end(); ++i) body(whole.tile(i));
  }
  Tiles whole;
  Body body;
};
template <class Tiles, class Body>
struct BodyOfFor<EachTile<Tiles, Body>> {
  using type = Body;
};

}  // namespace engine

/// Calls body(i) for i = begin, begin + step, ... below `end`. Errors: TaskError for a step below 1.
template <class Begin, class End, OrdinaryInteger Step, class Body,
          class Index = std::common_type_t<Begin, End>>
  requires(std::is_integral_v<Index> && !engine::is_then<Body>)
void parallel_for(Begin begin, End end, Step step, Body body) {
  const std::uint64_t by = engine::checked_step(step);
  parallel_for(blocked_range<std::uint64_t>(0, engine::steps_of<Index>(begin, end, by)),
               engine::EachStep<Index, Body>{static_cast<Index>(begin), by, std::move(body)});
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Begin, class End, OrdinaryInteger Step, class Body, class F,
          class Index = std::common_type_t<Begin, End>>
  requires(std::is_integral_v<Index>)
void parallel_for(Begin begin, End end, Step step, Body body, Then<F> then) {
  const std::uint64_t by = engine::checked_step(step);
  parallel_for(blocked_range<std::uint64_t>(0, engine::steps_of<Index>(begin, end, by)),
               engine::EachStep<Index, Body>{static_cast<Index>(begin), by, std::move(body)},
               std::move(then));
}

/// Calls body(element) for each element of a container, or of anything that has std::begin() and std::end()
/// with forward iterators. The container must live as long as the loop.
template <class Container, class Body>
void parallel_for_each(Container& container, Body body) {
  parallel_for_each(std::begin(container), std::end(container), std::move(body));
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Container, class Body, class F>
void parallel_for_each(Container& container, Body body, Then<F> then) {
  parallel_for_each(std::begin(container), std::end(container), std::move(body), std::move(then));
}

/// Rows and columns, in tiles of at most so many of each; 0: as many as suit the engine. Bodies get such
/// ranges, too.
template <class Row, class Column = Row>
class blocked_range2d {
 public:
  /// An empty range has no tiles.
  constexpr blocked_range2d(Row row_begin, Row row_end, Column column_begin, Column column_end,
                            std::uint64_t row_grain = 0, std::uint64_t column_grain = 0)
      : rows_(row_begin, row_end, row_grain), columns_(column_begin, column_end, column_grain) {}
  /// The rows of this tile, or of all.
  constexpr const blocked_range<Row>& rows() const { return rows_; }
  /// The columns of this tile, or of all.
  constexpr const blocked_range<Column>& cols() const { return columns_; }

 private:
  blocked_range<Row> rows_;
  blocked_range<Column> columns_;
};

namespace engine {

/// A two-dimensional range in tiles, which are numbered row by row.
template <class Row, class Column>
class Tiles {
 public:
  explicit Tiles(const blocked_range2d<Row, Column>& whole)
      : whole_(whole),
        rows_(whole.rows().size(), grain_of(whole.rows())),
        columns_(whole.cols().size(), grain_of(whole.cols())) {}
  std::uint64_t count() const { return rows_.parts() * columns_.parts(); }
  blocked_range2d<Row, Column> tile(std::uint64_t number) const {
    const std::uint64_t row = number / columns_.parts(), column = number % columns_.parts();
    const Row first_row = whole_.rows().begin();
    const Column first_column = whole_.cols().begin();
    return {advanced(first_row, rows_.begin_of(row)), advanced(first_row, rows_.begin_of(row + 1)),
            advanced(first_column, columns_.begin_of(column)),
            advanced(first_column, columns_.begin_of(column + 1))};
  }

 private:
  /// The grain of a side: the program's, or one that gives about 16 tiles a worker for both sides together.
  template <class Range>
  static std::uint64_t grain_of(const Range& side) {
    if (side.grain() != 0 || side.size() == 0) return side.grain();
    std::uint64_t parts = 1;
    while (parts * parts < 16 * std::uint64_t{parallelism()}) ++parts;
    return std::max<std::uint64_t>(side.size() / parts, 1);
  }
  blocked_range2d<Row, Column> whole_;
  Division rows_, columns_;
};

}  // namespace engine

/// Calls body(tile) for tiles of the range, each a blocked_range2d.
template <class Row, class Column, class Body>
void parallel_for(const blocked_range2d<Row, Column>& range, Body body) {
  const engine::Tiles<Row, Column> tiles(range);
  parallel_for(blocked_range<std::uint64_t>(0, tiles.count(), 1),
               engine::EachTile<engine::Tiles<Row, Column>, Body>{tiles, std::move(body)});
}
/// The same in a task, which does not wait: `then` comes afterwards.
template <class Row, class Column, class Body, class F>
void parallel_for(const blocked_range2d<Row, Column>& range, Body body, Then<F> then) {
  const engine::Tiles<Row, Column> tiles(range);
  parallel_for(blocked_range<std::uint64_t>(0, tiles.count(), 1),
               engine::EachTile<engine::Tiles<Row, Column>, Body>{tiles, std::move(body)}, std::move(then));
}

}  // namespace rubato::inline v0
