// SPDX-License-Identifier: MIT
// The tree on plain threads. An operation at a time it is an index like others (index/blink_index.hpp). Here
// are 16 lookups at a time, interleaved as one would do it by hand to hide the latency of memory: a visit of
// one, its next node prefetched, then a visit of the next.
#include <array>
#include <thread>
#include <vector>

#include "apps/ycsb/batches.hpp"
#include "apps/ycsb/index/blink_index.hpp"
#include "apps/ycsb/index/index_variant.hpp"
#include "apps/ycsb/latched_visit.hpp"
#include "apps/ycsb/variant.hpp"

namespace rubato::apps::ycsb {
namespace {

template <class Latch>
class InterleavedVariant final : public VariantOf<LatchedMemory<Latch>> {
 public:
  void run(std::span<const Request> requests, const RunOptions& options, Recorder& recorder) override {
    requests_ = requests;
    recorder_ = &recorder;
    first_value_ = options.first_value;
    Batches batches(requests.size(), options.inflight);
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < options.workers; ++i) threads.emplace_back([&] { work(batches); });
    work(batches);
  }

 private:
  static constexpr unsigned kLanes = 16;

  /// A lookup on its way.
  struct Lane {
    std::uint64_t request;
    Operation operation;
    Link link;  ///< empty: nothing to do
    Cursor cursor;
  };

  void work(Batches& batches) {
    ScanBuffer buffer;
    for (std::uint64_t first, last; batches.take(first, last);) {
      interleave(first, last, buffer);
    }
  }

  void serve(std::uint64_t request, ScanBuffer& buffer) {
    const Operation operation = operation_of(requests_[request], request, first_value_, &buffer);
    recorder_->invoke(request);
    const Answer answer = execute(this->tree_.root(), operation, 0, this->tree_.memory());
    recorder_->respond(request, answer, operation.buffer);
  }

  /// Lookups through the lanes, everything else at once.
  void interleave(std::uint64_t first, std::uint64_t last, ScanBuffer& buffer) {
    std::array<Lane, kLanes> lanes{};
    unsigned busy = 0;
    for (Lane& lane : lanes) busy += begin(lane, first, last, buffer);
    while (busy != 0) {
      for (Lane& lane : lanes) {
        if (lane.link && !step(lane) && !begin(lane, first, last, buffer)) --busy;
      }
    }
  }

  /// Gives the lane the next lookup of the batch; false: there is none.
  bool begin(Lane& lane, std::uint64_t& first, std::uint64_t last, ScanBuffer& buffer) {
    lane.link = {};
    for (; first < last && requests_[first].kind != Kind::lookup; ++first) serve(first, buffer);
    if (first == last) return false;
    lane.request = first++;
    lane.operation = operation_of(requests_[lane.request], lane.request, first_value_, nullptr);
    lane.link = this->tree_.root();
    lane.cursor = Cursor();
    recorder_->invoke(lane.request);
    return true;
  }

  /// Makes a visit; false: the lookup is answered.
  bool step(Lane& lane) {
    std::optional<FollowUp> none;
    const Visited visited = visit_latched(lane.link, lane.cursor, lane.operation, this->tree_.memory(), none);
    if (!visited.next) {
      recorder_->respond(lane.request, visited.answer, nullptr);
      return false;
    }
    lane.link = visited.next;
    lane.cursor = visited.cursor;
    prefetch(lane);
    return true;
  }

  static void prefetch(const Lane& lane) {
    const auto* const node = reinterpret_cast<const char*>(lane.link.node());
    const Lines lines = lines_of(lane.cursor);
    __builtin_prefetch(&LatchedMemory<Latch>::latch_of(lane.link));
    for (unsigned i = 0; i < lines.bytes; i += kLineBytes) __builtin_prefetch(node + lines.offset + i);
  }

  std::span<const Request> requests_;
  Recorder* recorder_ = nullptr;
  Value first_value_ = 0;
};

template <class Latch>
std::unique_ptr<Variant> make(bool is_interleaved) {
  if (is_interleaved) return std::make_unique<InterleavedVariant<Latch>>();
  return std::make_unique<index::IndexVariant<index::BlinkIndex<Latch>>>();
}

}  // namespace

std::unique_ptr<Variant> make_thread_variant(Sync sync, bool is_interleaved) {
  if (sync == Sync::spin) return make<SpinLatch>(is_interleaved);
  if (sync == Sync::rw) return make<ReaderWriterLatch>(is_interleaved);
  return make<VersionLatch>(is_interleaved);
}

}  // namespace rubato::apps::ycsb
