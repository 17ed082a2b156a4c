// A team of threads, which run the software-only version of an application: a thread a core, no tasks. Its
// barriers cost a number of messages that grows with the logarithm of the team, as on large chips one shared
// counter would cost more than the work between two barriers.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/atomics.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// Waits until `is_true` is. A waiting thread yields its core if that takes long: there may be fewer cores
/// than threads.
template <class Condition>
void spin_until(Condition is_true) {
  constexpr int kSpins = 2000;  // some 10,000 cycles: most barriers are over by then
  for (int spins = 0; !is_true(); ++spins) {
    if (spins < kSpins) {
      HeaderAtomics::pause();
    } else {
      std::this_thread::yield();
    }
  }
}

class ThreadTeam {
 public:
  class Member;

  /// Runs work(member) on all of `threads` threads, of which the caller is one. Threads start before the
  /// region of interest, which begins when all are ready and ends when all are done. threads >= 1.
  template <class Work>
  static void run(std::uint32_t threads, Work work);

 private:
  /// A message from one member to another. The receiver sees the value if it sees the phase.
  struct alignas(64) Message {
    std::atomic<std::uint64_t> phase{0};
    std::uint64_t value = 0;
  };

  explicit ThreadTeam(std::uint32_t threads)
      : threads_(threads), rounds_(std::bit_width(threads - 1)), messages_(kSets * rounds_ * threads) {}

  /// Phases take turns with the sets of messages. Of two phases in succession one at least is a barrier. So
  /// when a member sends, all members have read what was sent three phases before.
  static constexpr std::size_t kSets = 4;
  Message& message(std::uint64_t phase, std::uint32_t receiver, unsigned round) {
    return messages_[(kSets * receiver + phase % kSets) * rounds_ + round];
  }

  const std::uint32_t threads_;
  const unsigned rounds_;
  std::vector<Message> messages_;
};

/// A thread of the team, as its work sees it.
class ThreadTeam::Member {
 public:
  std::uint32_t index() const { return index_; }
  std::uint32_t threads() const { return team_.threads_; }

  /// The part of [0, count) that is this member's.
  std::size_t part_begin(std::size_t count) const { return count * index_ / threads(); }
  std::size_t part_end(std::size_t count) const { return count * (index_ + std::size_t{1}) / threads(); }

  /// All members call it. Writes before the call are visible to all members after theirs.
  void barrier() { all_min(0); }

  /// A barrier that returns the least of all members' values (dissemination barrier: Hensgen, Finkel and
  /// Manber, 1988).
  std::uint64_t all_min(std::uint64_t value) {
    ++phase_;
    unsigned round = 0;
    for (std::uint32_t distance = 1; distance < threads(); distance *= 2, ++round) {
      send((index_ + distance) % threads(), round, value);
      value = std::min(value, receive(round));
    }
    return value;
  }

  /// The sum of the values of all members before this one (Hillis and Steele, 1986). Of the last member it
  /// returns after all others have called it. The next collective call is barrier() or all_min().
  std::uint64_t sum_before(std::uint64_t value) {
    ++phase_;
    const std::uint64_t own = value;
    unsigned round = 0;
    for (std::uint32_t distance = 1; distance < threads(); distance *= 2, ++round) {
      if (index_ + distance < threads()) send(index_ + distance, round, value);
      if (index_ >= distance) value += receive(round);
    }
    return value - own;
  }

 private:
  friend class ThreadTeam;
  Member(ThreadTeam& team, std::uint32_t index) : team_(team), index_(index) {}

  void send(std::uint32_t receiver, unsigned round, std::uint64_t value) {
    Message& message = team_.message(phase_, receiver, round);
    message.value = value;
    message.phase.store(phase_, std::memory_order_release);  // the value, and all that this member wrote
  }
  std::uint64_t receive(unsigned round) {
    const Message& message = team_.message(phase_, index_, round);
    spin_until([&] { return message.phase.load(std::memory_order_acquire) == phase_; });
    return message.value;
  }

  ThreadTeam& team_;
  const std::uint32_t index_;
  std::uint64_t phase_ = 0;
};

template <class Work>
void ThreadTeam::run(std::uint32_t threads, Work work) {
  ThreadTeam team(threads);
  const auto take_part = [&](std::uint32_t index) {
    Member member(team, index);
    member.barrier();
    work(member);
    member.barrier();
  };
  std::vector<std::jthread> others;
  for (std::uint32_t index = 1; index < threads; ++index) others.emplace_back(take_part, index);
  threads_region([&] { take_part(0); });
}

}  // namespace rubato::apps
