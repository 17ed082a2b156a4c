// Latencies in nanoseconds, counted in buckets that are 1/64 of their value wide.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace rubato::cached::load {

class Latencies {
 public:
  void add(std::uint64_t nanoseconds) {
    ++buckets_[bucket(nanoseconds)];
    ++count_, sum_ += static_cast<double>(nanoseconds), most_ = std::max(most_, nanoseconds);
  }
  void merge(const Latencies& other) {
    for (std::size_t n = 0; n < buckets_.size(); ++n) buckets_[n] += other.buckets_[n];
    count_ += other.count_, sum_ += other.sum_, most_ = std::max(most_, other.most_);
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t most() const { return most_; }
  double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }
  /// At least this share of all took no longer than what is returned (by 1/64 at most too long).
  std::uint64_t at_share(double share) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t n = 0; n < buckets_.size(); ++n)
      if ((seen += buckets_[n]) >= wanted && seen) return std::min(upper_end(n), most_);
    return most_;
  }

 private:
  static constexpr unsigned kBits = 6;
  static std::size_t bucket(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= kBits + 1) return value;
    const unsigned shift = width - kBits - 1;
    return (std::size_t{shift} << kBits) + (value >> shift);
  }
  static std::uint64_t upper_end(std::size_t bucket) {
    if (bucket < (std::size_t{2} << kBits)) return bucket;
    const std::size_t shift = (bucket >> kBits) - 1;
    const std::uint64_t first = ((bucket & ((1u << kBits) - 1)) | (1u << kBits)) << shift;
    return first + ((std::uint64_t{1} << shift) - 1);
  }
  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>((65 - kBits) << kBits);
  std::uint64_t count_ = 0, most_ = 0;
  double sum_ = 0;
};

}  // namespace rubato::cached::load
