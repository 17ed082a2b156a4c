// Distributions of YCSB (Cooper et al., SoCC 2010): they choose which of n records a request is for. Zipfian
// numbers by the method of Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD
// 1994).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/rng.hpp"

namespace rubato::apps::ycsb {

enum class Distribution : std::uint8_t {
  zipfian,  ///< popularity by rank to the power of -0.99, the ranks scattered over the records
  latest,   ///< the same, the most recently inserted record is the most popular
  uniform,
};

/// Ranks 0 (most popular) to n - 1.
class Zipfian {
 public:
  static constexpr double kTheta = 0.99;
  /// n >= 1.
  explicit Zipfian(std::uint64_t n);
  std::uint64_t operator()(Rng& rng) const;
  /// Adds a rank.
  void grow();
  /// The probability of rank 0.
  double first() const { return 1 / zeta_; }

 private:
  void derive();
  std::uint64_t n_;
  double zeta_;
  double eta_ = 0;
};

/// Numbers of records, of which there may become more.
class RecordChooser {
 public:
  /// records >= 1.
  RecordChooser(Distribution distribution, std::uint64_t records);
  std::uint64_t operator()(Rng& rng) const;
  /// A record was inserted, with the next number.
  void grow();
  std::uint64_t records() const { return records_; }

 private:
  Distribution distribution_;
  std::uint64_t records_;
  Zipfian zipfian_;
};

}  // namespace rubato::apps::ycsb
