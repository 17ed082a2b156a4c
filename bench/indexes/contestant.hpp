// An index that takes part in bench/native_indexes, behind the few operations that the comparison needs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "apps/ycsb/batches.hpp"
#include "apps/ycsb/index/session.hpp"
#include "apps/ycsb/workload.hpp"

namespace indexes {

namespace ycsb = rubato::apps::ycsb;
using ycsb::Key;
using ycsb::Kind;
using ycsb::Request;
using ycsb::Value;
using ycsb::index::Session;

class Contestant {
 public:
  virtual ~Contestant() = default;
  /// Lookups, insertions and updates by `workers` threads, which take 500 at a time. Request i writes i.
  /// @returns how many of the keys were there.
  virtual std::uint64_t run(std::span<const Request> requests, unsigned workers) = 0;
};

/// A contestant's name, and its maker.
struct Entry {
  const char* name;
  std::unique_ptr<Contestant> (*make)();
};

/// Sizes of nodes and other constants. The first of each is what `ycsb` has.
std::span<const Entry> olc_sizes();
std::span<const Entry> masstree_sizes();
std::span<const Entry> bwtree_sizes();
#if defined(RUBATO_HAS_TBB)
std::unique_ptr<Contestant> make_tbb_map();
#endif

/// I: lookup(key, session), insert(key, value, session), update(key, value, session), each with an Answer.
/// serve(requests, first, session) instead, if it takes several requests at once.
template <class I>
class IndexContestant final : public Contestant {
 public:
  template <class... Args>
  explicit IndexContestant(Args&&... args) : index_(std::forward<Args>(args)...) {}

  std::uint64_t run(std::span<const Request> requests, unsigned workers) override {
    ycsb::Batches batches(requests.size(), 500);
    ycsb::index::ThreadEpochs epochs({.members = workers, .refreshes_a_look = 16});
    std::vector<std::uint64_t> found(workers);
    const auto work = [&](unsigned member) {
      Session session(epochs, member);
      std::uint64_t sum = 0;
      for (std::uint64_t first, last; batches.take(first, last);) {
        if constexpr (requires { index_.serve(requests, first, session); }) {
          sum += index_.serve(requests.subspan(first, last - first), first, session);
        } else {
          for (; first < last; ++first) {
            sum += serve(requests[first], first, session);
            session.refresh();
          }
        }
      }
      found[member] = sum;
    };
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 1; i < workers; ++i) threads.emplace_back(work, i);
      work(0);
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t count : found) sum += count;
    return sum;
  }

 private:
  std::uint64_t serve(const Request& request, Value value, Session& session) {
    if (request.kind == Kind::lookup) return index_.lookup(request.key, session).is_found;
    if (request.kind == Kind::insert) return index_.insert(request.key, value, session).is_found;
    return index_.update(request.key, value, session).is_found;
  }

  I index_;
};

template <class I>
std::unique_ptr<Contestant> make() {
  return std::make_unique<IndexContestant<I>>();
}

}  // namespace indexes
