// A variant that is an index on threads: each takes batches of requests and carries them out one after the
// other.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "apps/ycsb/batches.hpp"
#include "apps/ycsb/index/index.hpp"
#include "apps/ycsb/index/load_order.hpp"
#include "apps/ycsb/variant.hpp"
#include "base/rng.hpp"

namespace rubato::apps::ycsb::index {

template <Index I>
class IndexVariant final : public Variant {
 public:
  /// As the index does it; by insertion if it has no way of its own.
  void bulk_load(std::uint64_t pairs, const NextPair& next, const Progress& progress) override {
    if constexpr (requires { index_.bulk_load(pairs, next, progress); }) {
      index_.bulk_load(pairs, next, progress);
    } else {
      load_by_insertion(pairs, next, progress);
    }
  }
  void run(std::span<const Request> requests, const RunOptions& options, Recorder& recorder) override {
    requests_ = requests;
    recorder_ = &recorder;
    first_value_ = options.first_value;
    Batches batches(requests.size(), options.inflight);
    ThreadEpochs epochs({.members = options.workers, .refreshes_a_look = 16});
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < options.workers; ++i) threads.emplace_back([&, i] { work(batches, epochs, i); });
    work(batches, epochs, 0);
  }
  void for_each(const std::function<void(const leaf::Pair&)>& visit) const override {
    index_.for_each(visit);
  }
  TreeShape check() const override { return index_.check(); }

 private:
  /// Inserts the pairs in the order of load_order.hpp.
  void load_by_insertion(std::uint64_t pairs, const NextPair& next, const Progress& progress) {
    ThreadEpochs epochs({.members = 1, .refreshes_a_look = 16});
    Session session(epochs, 0);
    Rng rng(1);
    std::vector<leaf::Pair> window;
    for (std::uint64_t done = 0; done < pairs; done += window.size()) {
      window.clear();
      for (std::uint64_t n = std::min<std::uint64_t>(kLoadWindow, pairs - done); n > 0; --n)
        window.push_back(next());
      shuffle(window, rng);
      for (const leaf::Pair& pair : window) {
        index_.insert(pair.key, pair.value, session);
        session.refresh();
      }
      progress(done);
    }
  }
  void work(Batches& batches, ThreadEpochs& epochs, unsigned member) {
    Session session(epochs, member);
    ScanBuffer buffer;
    for (std::uint64_t first, last; batches.take(first, last);) {
      for (; first < last; ++first) serve(first, buffer, session);
    }
  }
  void serve(std::uint64_t request, ScanBuffer& buffer, Session& session) {
    const Operation operation = operation_of(requests_[request], request, first_value_, &buffer);
    recorder_->invoke(request);
    const Answer answer = execute(index_, operation, session);
    recorder_->respond(request, answer, operation.buffer);
    session.refresh();
  }

  I index_;
  std::span<const Request> requests_;
  Recorder* recorder_ = nullptr;
  Value first_value_ = 0;
};

}  // namespace rubato::apps::ycsb::index
