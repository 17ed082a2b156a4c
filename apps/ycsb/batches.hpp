// Work of threads: each takes a batch of requests from a shared counter (MxTasking, Sec. 6.1).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace rubato::apps::ycsb {

class Batches {
 public:
  Batches(std::uint64_t requests, std::uint64_t size) : requests_(requests), size_(size) {}
  /// Takes [first, last) of the requests; false: none is left.
  bool take(std::uint64_t& first, std::uint64_t& last) {
    first = next_.fetch_add(size_, std::memory_order_relaxed);
    last = std::min(first + size_, requests_);
    return first < requests_;
  }

 private:
  std::uint64_t requests_, size_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace rubato::apps::ycsb
