// Memory that transactions freed which do not quiesce at commit, because they promised to make nothing
// private (T38): it is given back when all have moved on that might still read it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tm/log/allocations.hpp"

namespace rubato::tm {

struct Algorithm;

class Limbo {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  bool empty() const { return frees_.empty(); }
  bool is_full() const { return bytes_ >= kMostBytes; }
  /// Until no transaction has a snapshot that is older, by the time of that algorithm.
  std::uint64_t time() const { return time_; }
  /// Another algorithm or another era began while no thread was inside, so all older transactions had ended
  /// then.
  bool is_of(const Algorithm* algorithm, std::uint64_t era) const {
    return algorithm_ == algorithm && era_ == era;
  }

  /// Takes the frees of a transaction that committed at `time`. False: there is no memory for it, and nothing
  /// was taken.
  bool take(Allocations& allocations, std::uint64_t time, const Algorithm* algorithm, std::uint64_t era) {
    if (!frees_.take_frees(allocations, bytes_)) return false;
    time_ = time;
    algorithm_ = algorithm;
    era_ = era;
    return true;
  }
  void release() {
    Allocations frees = frees_.take();  // a destructor of the program's own may run transactions
    bytes_ = 0;
    frees.commit();
    frees.destroy();
  }

 private:
  Allocations frees_;
  std::size_t bytes_ = 0;
  std::uint64_t time_ = 0, era_ = 0;
  const Algorithm* algorithm_ = nullptr;
};

}  // namespace rubato::tm
