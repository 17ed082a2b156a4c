// kmeans: points go to the nearest centre, and centres into the middle of their points, until few points
// move. A transaction adds one point to the sums of its centre; fewer centres mean more conflicts. After the
// description of STAMP (Cao Minh et al., IISWC 2008); T68.
// SPDX-License-Identifier: MIT
#include "apps/stamp/kmeans/clusters.hpp"

#include <memory>
#include <string>
#include <vector>

#include "apps/common/input_error.hpp"
#include "apps/stamp/common/program.hpp"

namespace rubato::apps::stamp::kmeans {
namespace {

constexpr std::uint64_t kChunk = 3;  // points that a thread takes at once, as published
constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// The sum of the points of one centre; a row of the coordinates begins on a line of its own.
class Sums {
 public:
  Sums(std::uint64_t centres, std::uint64_t dimensions)
      : stride_((dimensions + 1 + kLine - 1) / kLine * kLine), rows_(centres * stride_ + kLine) {
    const auto address = reinterpret_cast<std::uintptr_t>(rows_.data());
    first_ = rows_.data() + (64 - address % 64) % 64 / sizeof(float);
  }
  /// The coordinates, behind them the number of points.
  float* operator[](std::uint64_t centre) { return first_ + centre * stride_; }
  void clear() { std::fill(rows_.begin(), rows_.end(), 0.0F); }

 private:
  static constexpr std::uint64_t kLine = 64 / sizeof(float);
  std::uint64_t stride_;
  std::vector<float> rows_;
  float* first_;
};

/// Result of the iterations.
struct Clustering {
  std::vector<float> centres;
  std::vector<std::uint32_t> centre_of;  // of each point
  std::uint64_t iterations = 0;
};

class Kmeans final : public Program {
 public:
  explicit Kmeans(const Settings& settings)
      : dimensions_(settings["dimensions"]),
        centres_(settings["centres"]),
        most_iterations_(settings["iterations"]),
        few_(settings["points"] * settings["threshold"] / 1000),
        points_(scattered(settings["points"], dimensions_, settings["places"], settings.seed)),
        sums_(centres_, dimensions_),
        found_(beginning()) {}

  void work(Worker& worker) override {
    for (bool goes_on = true; goes_on;) {
      assign_points();
      worker.wait_for_all();
      if (worker.is_first()) {
        move_centres(sums_, found_);
        goes_on_ = moved_ > few_ && ++found_.iterations < most_iterations_;
        moved_ = next_point_ = 0;
      }
      worker.wait_for_all();
      goes_on = goes_on_;
    }
  }

  std::string check() override {
    const Clustering expected = serially();
    if (expected.iterations != found_.iterations)
      return "it took another number of iterations than a serial run";
    if (expected.centre_of != found_.centre_of) return "points belong to other centres than in a serial run";
    return expected.centres == found_.centres ? "" : "centres are at other places than in a serial run";
  }

  std::uint64_t digest() override {
    std::uint64_t hash = found_.iterations;
    for (const std::uint32_t centre : found_.centre_of) hash = mix64(hash ^ centre);
    return hash;
  }

 private:
  Clustering beginning() const {  // the first points are the first centres
    const auto end = points_.coordinates.begin() + static_cast<std::ptrdiff_t>(centres_ * dimensions_);
    return {{points_.coordinates.begin(), end}, std::vector<std::uint32_t>(points_.count, kNone), 0};
  }

  void assign_points() {
    std::uint64_t moved = 0;
    for (;;) {
      std::uint64_t first = 0;
      __transaction_atomic {
        first = next_point_;
        next_point_ = first + kChunk;
      }
      if (first >= points_.count) break;
      for (std::uint64_t i = first; i < std::min(first + kChunk, points_.count); ++i) {
        const std::uint64_t centre = nearest(points_[i], found_.centres, dimensions_);
        if (found_.centre_of[i] != centre) ++moved;
        found_.centre_of[i] = static_cast<std::uint32_t>(centre);
        add(sums_[centre], points_[i]);
      }
    }
    __transaction_atomic { moved_ += moved; }
  }
  void add(float* sum, const float* point) const {
    const std::uint64_t dimensions = dimensions_;
    __transaction_atomic {
      for (std::uint64_t j = 0; j < dimensions; ++j) sum[j] += point[j];
      sum[dimensions] += 1;
    }
  }
  /// And clears the sums. A centre without points stays where it is.
  void move_centres(Sums& sums, Clustering& clustering) const {
    for (std::uint64_t c = 0; c < centres_; ++c) {
      const float* const sum = sums[c];
      if (sum[dimensions_] == 0) continue;
      for (std::uint64_t j = 0; j < dimensions_; ++j)
        clustering.centres[c * dimensions_ + j] = sum[j] / sum[dimensions_];
    }
    sums.clear();
  }

  Clustering serially() const {
    Clustering result = beginning();
    Sums sums(centres_, dimensions_);
    std::uint64_t moved = 0;
    do {
      moved = 0;
      for (std::uint64_t i = 0; i < points_.count; ++i) {
        const auto centre = static_cast<std::uint32_t>(nearest(points_[i], result.centres, dimensions_));
        if (result.centre_of[i] != centre) ++moved;
        result.centre_of[i] = centre;
        for (std::uint64_t j = 0; j < dimensions_; ++j) sums[centre][j] += points_[i][j];
        sums[centre][dimensions_] += 1;
      }
      move_centres(sums, result);
    } while (moved > few_ && ++result.iterations < most_iterations_);
    return result;
  }

  std::uint64_t dimensions_, centres_, most_iterations_, few_;
  Points points_;
  Sums sums_;
  Clustering found_;
  alignas(64) std::uint64_t next_point_ = 0;
  alignas(64) std::uint64_t moved_ = 0;
  bool goes_on_ = true;
};

const Description kDescription{
    .name = "kmeans",
    .summary = "STAMP's clustering: points are added to the sums of their centre.",
    .parameters = {{"points", kMostPoints, 2'048, 1, kMostPoints, "how many"},
                   {"dimensions", 32, 16, 1, 1'024, "coordinates of a point"},
                   {"centres", 40, 40, 1, 4'096, "how many there are to find", 15},
                   {"places", 16, 16, 1, 4'096, "places that the points are scattered about"},
                   {"threshold", 0, 20, 0, 999, "it ends when at most so many of 1000 points move"},
                   {"iterations", 12, 500, 1, 1'000'000, "at most", 40}},
    .make = [](const Settings& settings) -> std::unique_ptr<Program> {
      if (settings["centres"] > settings["points"]) throw InputError("--set centres: there are fewer points");
      return std::make_unique<Kmeans>(settings);
    }};

}  // namespace
}  // namespace rubato::apps::stamp::kmeans

int main(int argc, char** argv) {
  return rubato::apps::stamp::run(rubato::apps::stamp::kmeans::kDescription, argc, argv);
}
