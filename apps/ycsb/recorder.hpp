// Record of the begin, end and answer of requests: of none, of a sample for latencies, or of all as a history
// for the checks. Each request has a slot of its own, so that recording needs no synchronization.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "apps/ycsb/operation.hpp"

namespace rubato::apps::ycsb {

/// Request of a history. Times in nanoseconds, comparable between threads.
struct Event {
  std::uint64_t invoked = 0;
  std::uint64_t responded = 0;  ///< 0: never
  Answer answer;
};

struct ScannedPair {
  Key key;
  Value value;
};

class Recorder {
 public:
  enum class Mode : std::uint8_t { sample, history };
  /// Sampling interval, in requests: one in so many is timed for the latencies.
  static constexpr std::uint64_t kSampling = 64;

  Recorder(Mode mode, std::uint64_t requests)
      : mask_(mode == Mode::sample ? kSampling - 1 : 0), events_(requests / (mask_ + 1) + 1) {
    if (mode == Mode::history) scans_.resize(requests);
  }

  void invoke(std::uint64_t request) {
    if ((request & mask_) != 0) return;
    event_of(request).invoked = now();
    if (has_history()) drain();
  }
  void respond(std::uint64_t request, const Answer& answer, const ScanBuffer* scan) {
    if ((request & mask_) != 0) return;
    Event& event = event_of(request);
    if (has_history()) drain();
    event.responded = now();
    event.answer = answer;
    if (scan != nullptr && mask_ == 0) keep_scan(request, answer, *scan);
  }

  bool has_history() const { return mask_ == 0; }
  /// Events of a history: that of request i is the i-th.
  const std::vector<Event>& events() const { return events_; }
  const std::vector<ScannedPair>& scan(std::uint64_t request) const { return scans_[request]; }
  /// Nanoseconds, ascending.
  std::vector<std::uint64_t> latencies() const;

 private:
  /// Between a time and a request's accesses. Else the processor may read before the first time is taken, and
  /// what a request has written may become visible only after its last one: histories are in real time.
  /// ThreadSanitizer knows no fences, so that it gets a read-modify-write.
  static void drain() {
#if defined(__SANITIZE_THREAD__)
    std::atomic<unsigned> word{0};
    word.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
  static std::uint64_t now() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  Event& event_of(std::uint64_t request) { return events_[request / (mask_ + 1)]; }
  void keep_scan(std::uint64_t request, const Answer& answer, const ScanBuffer& scan);

  std::uint64_t mask_;
  std::vector<Event> events_;
  std::vector<std::vector<ScannedPair>> scans_;
};

}  // namespace rubato::apps::ycsb
