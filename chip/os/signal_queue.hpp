// Signals that were sent to a thread or a process and not delivered yet (POSIX 2.4, signal(7)): a standard
// signal is pending once, with what came with the first; real-time signals queue, first in, first out.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "chip/os/linux_abi.hpp"

namespace rubato::chip {

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

/// A signal that is on its way.
struct PendingSignal {
  abi::Siginfo info{};
  std::optional<std::int32_t> timer;  ///< number of the POSIX timer that sent it
};

class SignalQueue {
 public:
  bool empty() const { return mask_ == 0; }
  std::size_t size() const { return size_; }
  /// A bit for each signal that is pending.
  std::uint64_t mask() const { return mask_; }

  /// A standard signal that is pending already is dropped, unless a timer sends it: each timer's counts.
  void add(const PendingSignal& sent) {
    const int signal = sent.info.signo;
    auto& queue = queues_[signal];
    if (!queue.empty() && signal < abi::kFirstRealtime && !sent.timer) return;
    queue.push_back(sent);
    mask_ |= bit_of(signal);
    ++size_;
  }
  /// The lowest number of those in `signals`, or 0.
  int lowest(std::uint64_t signals) const {
    const std::uint64_t found = mask_ & signals;
    return found == 0 ? 0 : 1 + __builtin_ctzll(found);
  }
  /// The oldest of `signal`, which is pending.
  PendingSignal take(int signal) {
    const auto queue = queues_.find(signal);
    const PendingSignal sent = queue->second.front();
    queue->second.pop_front();
    --size_;
    if (queue->second.empty()) forget(signal);
    return sent;
  }
  /// All of `signal`. @returns them.
  std::vector<PendingSignal> take_all(int signal) {
    std::vector<PendingSignal> taken;
    while ((mask_ & bit_of(signal)) != 0) taken.push_back(take(signal));
    return taken;
  }

 private:
  void forget(int signal) {
    queues_.erase(signal);
    mask_ &= ~bit_of(signal);
  }

  std::map<int, std::deque<PendingSignal>> queues_;
  std::uint64_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rubato::chip
