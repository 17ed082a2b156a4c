// Recursive matrix multiplication: work is divided through the master until a piece is small.
// SPDX-License-Identifier: MIT
#include <bit>

#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::matrix {
namespace {

/// All pieces of one block of the product go to one worker: that is why two of them never write it at once.
struct Work {
  std::uint32_t row_a, column_a, row_b, column_b, row, column, size;
};
struct Done {};
struct Stop {};
struct Stopped {};

class Matrix {
 public:
  explicit Matrix(std::size_t size) : size_(size), values_(size * size) {}
  double* row(std::size_t i) { return values_.data() + i * size_; }
  const double* row(std::size_t i) const { return values_.data() + i * size_; }

 private:
  std::size_t size_;
  std::vector<double> values_;
};

struct Data {
  explicit Data(std::size_t size) : a(size), b(size), product(size) {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        a.row(i)[j] = static_cast<double>(i);
        b.row(i)[j] = static_cast<double>(j);
      }
    }
  }
  Matrix a, b, product;
};

struct Worker : behavior<Work, Stop> {
  Worker(Data& data, actor<Work, Done, Stopped> master, std::uint64_t threshold)
      : data_(data), master_(master), threshold_(threshold) {}
  void on(Work work) {
    if (static_cast<std::uint64_t>(work.size) * work.size > threshold_) {
      divide(work);
    } else {
      multiply(work);
    }
    master_.send(Done{});
  }
  void on(Stop) {
    master_.send(Stopped{});
    stop();
  }
  void divide(const Work& w) {
    const std::uint32_t half = w.size / 2;
    for (const std::uint32_t row : {0u, half}) {
      for (const std::uint32_t column : {0u, half}) {
        for (const std::uint32_t k : {0u, half}) {
          master_.send(Work{w.row_a + row, w.column_a + k, w.row_b + k, w.column_b + column, w.row + row,
                            w.column + column, half});
        }
      }
    }
  }
  void multiply(const Work& w) {
    for (std::uint32_t i = 0; i < w.size; ++i) {
      double* const sums = data_.product.row(w.row + i) + w.column;
      for (std::uint32_t k = 0; k < w.size; ++k) {
        const double factor = data_.a.row(w.row_a + i)[w.column_a + k];
        const double* const factors = data_.b.row(w.row_b + k) + w.column_b;
        for (std::uint32_t j = 0; j < w.size; ++j) sums[j] += factor * factors[j];
      }
    }
  }
  Data& data_;
  actor<Work, Done, Stopped> master_;
  std::uint64_t threshold_;
};

struct Master : behavior<Work, Done, Stopped> {
  Master(Data& data, std::uint64_t& works, const Iteration& it) : works_(works) {
    for (std::uint64_t i = 0; i < it["w"]; ++i) workers_.push_back(spawn<Worker>(data, self(), it["t"]));
    on(Work{0, 0, 0, 0, 0, 0, static_cast<std::uint32_t>(it["n"])});
  }
  void on(Work work) {
    ++sent_;
    workers_[(work.row + work.column) % workers_.size()].send(work);
  }
  void on(Done) {
    if (++done_ != sent_) return;
    for (const auto worker : workers_) worker.send(Stop{});
  }
  void on(Stopped) {
    if (++stopped_ != workers_.size()) return;
    works_ = sent_;
    stop();
  }
  std::uint64_t& works_;
  std::vector<actor<Work, Stop>> workers_;
  std::uint64_t sent_ = 0, done_ = 0, stopped_ = 0;
};

void iterate(Iteration& it) {
  const std::uint64_t size = it["n"];
  if (!std::has_single_bit(size))
    it.refuse("n is a power of two: matrices are divided into four equal parts");
  Data data(size);
  std::uint64_t works = 0;
  it.measure([&] { spawn<Master>(data, works, it); });
  it.verify([&] {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      for (std::uint64_t j = 0; j < size; ++j)
        wrong += data.product.row(i)[j] == static_cast<double>(size * i * j) ? 0 : 1;
    }
    std::uint64_t expected = 1, level = 1;
    for (std::uint64_t n = size; n * n > it["t"]; n /= 2) expected += level *= 8;
    it.expect("elements that are not n i j", wrong, 0);
    it.expect("pieces of work", works, expected);
    it.expect_actors(it["w"] + 1);
    it.expect_messages(3 * works - 1 + 2 * it["w"]);
  });
}

constexpr Parameter kParameters[] = {
    {"n", 1'024, 64, 2, 8'192}, {"t", 16'384, 256}, {"w", 20, 5, 1, 100'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"recmatmul", "parallelism", "recursive matrix multiplication", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::matrix
