// How threads and oneTBB tasks keep visits of one node apart: a word on a line before the node, which is
// where the tasks' runtime has its own. A policy has read(link, visit) and write(link, visit); visit()
// returns a result and may be called again after an optimistic read that lost.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <thread>

#include "apps/ycsb/node.hpp"
#include "rubato/resource.hpp"

namespace rubato::apps::ycsb {

/// Waits a little, then gives the CPU away: there may be more threads than CPUs.
class Backoff {
 public:
  void operator()() {
    if (++rounds_ % 64 == 0) {
      std::this_thread::yield();
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

 private:
  unsigned rounds_ = 0;
};

class SpinLatch {
 public:
  void lock() {
    for (Backoff wait; is_locked_.exchange(true, std::memory_order_acquire);) {
      while (is_locked_.load(std::memory_order_relaxed)) wait();
    }
  }
  void unlock() { is_locked_.store(false, std::memory_order_release); }

  template <class Visit>
  auto read(Visit visit) {
    return write(visit);
  }
  template <class Visit>
  auto write(Visit visit) {
    lock();
    auto result = visit();
    unlock();
    return result;
  }

 private:
  std::atomic<bool> is_locked_{false};
};

/// Readers count in steps of 2; bit 0: a writer is in, or waits for the readers to leave.
class ReaderWriterLatch {
 public:
  template <class Visit>
  auto read(Visit visit) {
    for (Backoff wait; (word_.fetch_add(2, std::memory_order_acquire) & 1) != 0;) {
      word_.fetch_sub(2, std::memory_order_relaxed);
      while ((word_.load(std::memory_order_relaxed) & 1) != 0) wait();
    }
    auto result = visit();
    word_.fetch_sub(2, std::memory_order_release);
    return result;
  }
  template <class Visit>
  auto write(Visit visit) {
    for (Backoff wait; (word_.fetch_or(1, std::memory_order_acquire) & 1) != 0;) wait();
    for (Backoff wait; word_.load(std::memory_order_acquire) != 1;) wait();
    auto result = visit();
    word_.fetch_and(~std::uint32_t{1}, std::memory_order_release);
    return result;
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

/// A version, odd while a writer is in. Readers look at the node without a trace and again if it changed.
class VersionLatch {
 public:
  template <class Visit>
  auto read(Visit visit) {
    for (Backoff wait;; wait()) {
      const std::uint64_t before = version_.load(std::memory_order_acquire);
      if ((before & 1) != 0) continue;
      auto result = visit();
      if (load_after() == before) return result;
    }
  }
  template <class Visit>
  auto write(Visit visit) {
    std::uint64_t version = version_.load(std::memory_order_relaxed);
    for (Backoff wait; (version & 1) != 0 ||
                       !version_.compare_exchange_weak(version, version + 1, std::memory_order_acq_rel);) {
      wait();
      version = version_.load(std::memory_order_relaxed);
    }
#if !defined(__SANITIZE_THREAD__)
    std::atomic_thread_fence(std::memory_order_release);  // the odd version is seen before what is written
#endif
    auto result = visit();
    version_.store(version + 2, std::memory_order_release);
    return result;
  }

 private:
  /// The version, not read before anything that the visit read. ThreadSanitizer knows no fences.
  std::uint64_t load_after() {
#if defined(__SANITIZE_THREAD__)
    return version_.fetch_add(0, std::memory_order_acq_rel);
#else
    std::atomic_thread_fence(std::memory_order_acquire);
    return version_.load(std::memory_order_relaxed);
#endif
  }

  std::atomic<std::uint64_t> version_{0};
};

/// A node behind a latch.
template <class Latch>
struct LatchedNode {
  alignas(kLineBytes) Latch latch;
  alignas(kLineBytes) Node node;
  explicit LatchedNode(unsigned level) : node(level) {}
};

/// Nodes behind latches, from the same memory as those of tasks. For Tree.
template <class Latch>
struct LatchedMemory {
  using Block = LatchedNode<Latch>;
  static constexpr std::size_t kNodeOffset = (sizeof(Latch) + kLineBytes - 1) / kLineBytes * kLineBytes;

  static Block* block_of(Link link) {
    return reinterpret_cast<Block*>(reinterpret_cast<char*>(link.node()) - kNodeOffset);
  }
  static Latch& latch_of(Link link) { return block_of(link)->latch; }

  Link make(unsigned level) {
    const resource<Block> block = make_resource<Block>({}, level);
    return Link(reinterpret_cast<std::uintptr_t>(&block->node));
  }
  Link make_root() { return make(0); }
  void free(Link link) {
    remove(std::bit_cast<resource<Block>>(reinterpret_cast<std::uint64_t>(block_of(link))));
  }
};

}  // namespace rubato::apps::ycsb
