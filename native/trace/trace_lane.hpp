// The trace of a worker, kept in memory (R13). Its worker appends, the thread that writes the file reads
// complete spans; nothing is ever removed, so neither waits for the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "native/clock.hpp"
#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::native {

/// A piece of a worker's time, in ticks. Left uninitialized until it is used: see TraceLane.
struct TraceSpan {
  enum class Kind : std::uint8_t {
    task,
    idle,      ///< looks for work, or sleeps
    parked,    ///< sleeps; lies within an idle span
    aside,     ///< stands by for a task that runs alone
    lagging,   ///< waits before it sleeps or gives up a turn; lies within an idle span, or within the turn
    sampling,  ///< the same, to find out whether that pays
  };
  std::uint64_t begin, end;
  const engine::TaskCode* code;  ///< of a task, like the rest
  std::uint64_t first_word;      ///< of a turn: a std::type_info, see TaskTimer::begin_turn()
  std::uint64_t handle;
  std::uint64_t timestamp;  ///< of a turn: the actor's handle
  Kind kind;
};
inline constexpr std::size_t kTraceKinds = 6;

/// The first `capacity` spans of one worker; later ones are only counted. Invariant: spans below size() do
/// not change any more. A page of memory is used when a span first lies in it.
class alignas(64) TraceLane {
 public:
  using Kind = TraceSpan::Kind;
  explicit TraceLane(std::size_t capacity)
      : capacity_(capacity), spans_(std::make_unique_for_overwrite<TraceSpan[]>(capacity)) {}

  // ---- Its worker ----
  void add(const TraceSpan& span) {
    const std::size_t size = size_.load(std::memory_order_relaxed);
    if (size == capacity_) {
      const auto kind = static_cast<std::size_t>(span.kind);
      increase(ticks_left_out_[kind], span.end - span.begin);
      return increase(left_out_[kind], 1);
    }
    spans_[size] = span;
    size_.store(size + 1, std::memory_order_release);
  }
  void open(Kind kind, std::uint64_t begin) {
    open_[static_cast<std::size_t>(kind)].store(begin, std::memory_order_relaxed);
  }
  void close(Kind kind) {
    auto& open = open_[static_cast<std::size_t>(kind)];
    const std::uint64_t begin = open.load(std::memory_order_relaxed);
    open.store(0, std::memory_order_relaxed);
    add({begin, ticks(), nullptr, 0, 0, 0, kind});
  }

  // ---- Any thread ----
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  const TraceSpan& operator[](std::size_t index) const { return spans_[index]; }
  /// When the span of this kind that has not ended yet began; 0: there is none.
  std::uint64_t opened(Kind kind) const {
    return open_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  std::uint64_t left_out(Kind kind) const {
    return left_out_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  std::uint64_t ticks_left_out(Kind kind) const {
    return ticks_left_out_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }

 private:
  using Number = std::atomic<std::uint64_t>;
  static void increase(Number& number, std::uint64_t by) {
    number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  const std::size_t capacity_;
  std::unique_ptr<TraceSpan[]> spans_;
  std::atomic<std::size_t> size_{0};
  Number open_[kTraceKinds] = {};
  Number left_out_[kTraceKinds] = {};
  Number ticks_left_out_[kTraceKinds] = {};
};

/// A span from here to the end of the scope, if there is a lane.
class TraceScope {
 public:
  TraceScope(TraceLane* lane, TraceSpan::Kind kind) : lane_(lane), kind_(kind) {
    if (lane_ != nullptr) lane_->open(kind_, ticks());
  }
  ~TraceScope() {
    if (lane_ != nullptr) lane_->close(kind_);
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  TraceLane* const lane_;
  const TraceSpan::Kind kind_;
};

}  // namespace rubato::inline v0::native
