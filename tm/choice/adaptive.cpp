// SPDX-License-Identifier: MIT
#include "tm/choice/adaptive.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>

#include "tm/choice/chooser.hpp"
#include "tm/fault.hpp"
#include "tm/thread/options.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {
namespace {

/// How long a thread should not look at the clock: its mask of commits follows.
constexpr std::uint64_t kShortestLook = 20'000, kLongestLook = 200'000;
constexpr std::uint64_t kFirstMask = 7;

/// State of the adaptation, which one thread at a time uses, under `is_busy`.
struct Adapting {
  Chooser chooser;
  AlgorithmId next = AlgorithmId::serial, now = AlgorithmId::serial;
  std::uint64_t began = 0;
};
constinit Adapting adapting;
constinit std::atomic<bool> is_busy{false};
/// Until then nothing is to be done: what threads look at without `is_busy`.
constinit std::atomic<std::uint64_t> earliest_end{0};

std::uint64_t nanoseconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void begin_window(std::uint64_t now) {
  for_each_thread(
      [](Thread& thread) { thread.committed_at_window = thread.committed.load(std::memory_order_relaxed); });
  adapting.began = now;
  earliest_end.store(now + adapting.chooser.shortest_window(), std::memory_order_relaxed);
}

Window window_until(std::uint64_t now) {
  Window window{now - adapting.began, 0, 0};
  for_each_thread([&window](const Thread& thread) {
    const std::uint64_t commits =
        thread.committed.load(std::memory_order_relaxed) - thread.committed_at_window;
    window.commits += commits;
    window.threads += commits != 0;
  });
  // A thread in a long transaction is at work, though it has not committed.
  if (window.commits < Chooser::kFewestCommits)
    window.threads = std::max(window.threads, registered_threads.load(std::memory_order_relaxed));
  return window;
}

/// False if that is not possible now.
bool change_to_next(const Thread& thread) {
  if (adapting.next == adapting.now) return true;
  if (!shared.gate.try_switch(thread.line, static_cast<std::uint32_t>(adapting.next))) return false;
  adapting.now = adapting.next;
  return true;
}

void take_turns(Thread& thread) {
  if (thread.committed.load(std::memory_order_relaxed) % options.turns != 0) return;
  auto next = static_cast<std::uint32_t>(adapting.now);
  do {
    next = (next + 1) % kAlgorithmCount;
  } while ((adapting.chooser.candidates() >> next & 1) == 0);
  adapting.next = static_cast<AlgorithmId>(next);
  change_to_next(thread);
}

void look_less_or_more(Thread& thread, std::uint64_t now) {
  const std::uint64_t elapsed = now - thread.looked_at;
  thread.looked_at = now;
  if (thread.profile != nullptr) return;  // it looks at every commit
  if (elapsed < kShortestLook && thread.upkeep_mask < kUpkeepMask) {
    thread.upkeep_mask = 2 * thread.upkeep_mask + 1;
  } else if (elapsed > kLongestLook) {
    thread.upkeep_mask /= 2;
  }
}

void end_window(const Thread& thread, std::uint64_t now) {
  if (adapting.next == adapting.now) {
    const Window window = window_until(now);
    if (!adapting.chooser.is_over(window)) return;
    adapting.next = adapting.chooser.next(window);
  }
  if (change_to_next(thread)) begin_window(nanoseconds());
}

}  // namespace

void start_adapting() {
  options.is_adaptive = true;
  std::uint32_t candidates = 0;
  for (std::uint32_t id = 0; id < kAlgorithmCount; ++id) {
    // With rtm, transactions that hardware gives up run alone (begin.cpp) and keep no stores either.
    const bool is_allowed =
        options.may_keep_stores || id == Regime::kHardware || !algorithm(id).keeps_stores();
    if (is_allowed && algorithm(id).prepare()) candidates |= 1u << id;
  }
  // Hardware runs writers beside each other, too: no time goes into trying one writer at a time.
  const bool has_hardware = (candidates >> Regime::kHardware & 1) != 0;
  if (has_hardware && !options.may_keep_stores) candidates &= ~Chooser::bit(AlgorithmId::tml);
  adapting.chooser = Chooser(candidates);
  begin_window(nanoseconds());
}

void adapt_thread(Thread& thread) {
  if (!options.is_adaptive) return;
  thread.upkeep_mask = options.turns != 0 ? 0 : kFirstMask;
}

void adapt(Thread& thread) {
  if (options.turns == 0) {
    const std::uint64_t now = nanoseconds();
    look_less_or_more(thread, now);
    if (now < earliest_end.load(std::memory_order_relaxed)) return;
  }
  if (is_busy.exchange(true, std::memory_order_acquire) && !has_fault(Fault::adapts_unlocked)) return;
  if (options.turns != 0) {
    take_turns(thread);
  } else {
    end_window(thread, nanoseconds());
  }
  is_busy.store(false, std::memory_order_release);
}

void reset_adapting_after_fork() {
  // After a fork, a thread that was adapting is gone, and so are the threads that it had measured.
  is_busy.store(false, std::memory_order_relaxed);
  if (!options.is_adaptive) return;
  adapting.now = static_cast<AlgorithmId>(Regime::algorithm(shared.gate.regime()));
  adapting.next = AlgorithmId::serial;
  adapting.chooser = Chooser(adapting.chooser.candidates());
  begin_window(nanoseconds());
}

std::size_t describe_choices(char* text, std::size_t room) {
  if (!options.is_adaptive || options.turns != 0) return 0;
  std::size_t length = 0;
  const auto add = [&](const char* format, const char* name, std::uint64_t number) {
    const int n =
        std::snprintf(text + length, room - length, format, name, static_cast<unsigned long long>(number));
    length = std::min(length + static_cast<std::size_t>(n > 0 ? n : 0), room - 1);
  };
  add("%s: %llu changes of the best; windows:", "adaptive", adapting.chooser.changes());
  for (std::uint32_t id = 0; id < kAlgorithmCount; ++id)
    add(" %s %llu", kAlgorithmNames[id], adapting.chooser.windows(static_cast<AlgorithmId>(id)));
  text[length - 1 < room - 2 ? length : room - 2] = '\n';
  return std::min(length + 1, room - 1);
}

}  // namespace rubato::tm
