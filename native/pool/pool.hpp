// A task pool: tasks that must not run at once, pushed by any thread with one atomic exchange, run by one
// worker at a time. Decides nothing about which pool runs when. R1, R2, R10; MxTasking, Sec. 2.3 and
// 4.1.
//
//   state    tail_     owner of head_, last_taken_  push(..)          leaves by
//   empty    null      none                         true: -> ready    -
//   ready    not null  a worker's ready set         links             a worker claims it: -> running
//   running  not null  that worker                  links             finish(): -> empty or -> ready
//
// A pool is running from the claim until the last task taken from it has ended, tasks in the worker's ring
// included: the last task that was linked when it was taken stays in the queue as the place where the next
// push links, and only finish() lets it go. A push between its exchange and its link ("half-linked") is a
// pool that is not empty and has nothing to take.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "base/perturbation.hpp"
#include "native/fault.hpp"

namespace rubato::inline v0::native {

/// The rules of a correct pool. Tests derive from it to build mutants, which they must catch.
struct PoolRules {
  static constexpr bool kHalfLinkedIsNotEmpty = true;
  static constexpr bool kKeepsLastUntilFinish = true;
};

/// Result of Pool::drain(): which tasks it has handed on.
enum class Drained : std::uint8_t {
  all,            ///< the pool is empty, and without an owner
  all_but_newer,  ///< those that were pushed before it began
  not_all,        ///< a push is half-linked
};

/// The ends of a pool, unless they lie in something larger.
template <class Atomics, class Node>
struct PoolEnds {
  typename Atomics::template atomic<Node*> tail_{nullptr};
  Node* head_ = nullptr;        // the next to take
  Node* last_taken_ = nullptr;  // head_ is null then
};

/// `Node` has a member `typename Atomics::template atomic<Node*> next`.
template <class Atomics, class Node, class Rules = PoolRules, class Ends = PoolEnds<Atomics, Node>>
class Pool : public Ends {
  using Ends::head_;
  using Ends::last_taken_;
  using Ends::tail_;

 public:
  /// Appends the chain first..last. From any thread.
  /// @returns true if the pool was empty: the caller must put it into a ready set.
  [[nodiscard]] bool push(Node* first, Node* last) {
    last->next.store(nullptr, std::memory_order_relaxed);
    Node* const before = tail_.exchange(last, std::memory_order_acq_rel);
    if (before == nullptr) {
      head_ = first;
      return true;
    }
    perturb();
    before->next.store(first, std::memory_order_release);
    return false;
  }

  /// As push(node, node) and take(), of an empty pool that no other thread can reach yet. The caller owns the
  /// pool until finish().
  void begin_with(Node* node) {
    node->next.store(nullptr, std::memory_order_relaxed);
    last_taken_ = node;
    tail_.store(node, std::memory_order_relaxed);
  }

  // ---- The owner's, after it claimed the pool in a ready set ----

  struct Taken {
    Node* node;
    bool is_last;  ///< of those linked so far: must not be freed, nor linked elsewhere, before finish()
                   ///< returns it
  };
  /// The next task, or null if none is linked. After `is_last` there is none until finish().
  Taken take() {
    Node* const node = head_;
    if (node == nullptr) return {nullptr, false};
    Node* const next = node->next.load(std::memory_order_acquire);
    head_ = next;
    if (next != nullptr) return {node, false};
    last_taken_ = node;
    if constexpr (!Rules::kKeepsLastUntilFinish) {
      Node* expected = node;
      if (tail_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel,
                                        std::memory_order_relaxed))
        last_taken_ = nullptr;
    }
    return {node, true};
  }
  /// After `is_last`: whether more has been linked since, so that finish() releases it and the pool stays not
  /// empty.
  bool has_more() const {
    return last_taken_ != nullptr && last_taken_->next.load(std::memory_order_acquire) != nullptr;
  }
  /// The next task's, without taking it; null if none is linked.
  Node* head() const { return head_; }
  /// The node that finish() would release; null: there is none.
  Node* last_taken() const { return last_taken_; }

  struct Finished {
    bool is_empty;   ///< the pool has no owner now: do not touch it. Else the caller must put it into a ready
                     ///< set
    Node* released;  ///< the task that was taken as last, if it may be freed now
  };
  /// Ends the ownership: all tasks taken have ended.
  [[nodiscard]] Finished finish() {
    if constexpr (!Rules::kKeepsLastUntilFinish) {
      if (head_ == nullptr && last_taken_ == nullptr) return {true, nullptr};
    }
    if (last_taken_ == nullptr) return {false, nullptr};
    Node* const last = last_taken_;
    last_taken_ = nullptr;  // before the exchange below: after it the pool may be another worker's
    if (Node* const next = last->next.load(std::memory_order_acquire)) {
      head_ = next;
      return {false, last};
    }
    Node* expected = last;
    if (tail_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
      return {true, last};
    if constexpr (!Rules::kHalfLinkedIsNotEmpty) return {true, nullptr};
    last_taken_ = last;
    return {false, nullptr};
  }

  /// For a thread that hands tasks on and does not run them from here: takes all linked ones up to the newest
  /// at its begin, since other threads may push without end, and ends the ownership. The last one taken may
  /// be linked elsewhere only when finish() has returned it, now or the next time. Unless all are taken the
  /// caller must put the pool into a ready set.
  template <class Use>
  [[nodiscard]] Drained drain(Use use) {
    const Node* const newest = tail_.load(std::memory_order_acquire);
    bool is_reached = false;
    while (!is_reached) {
      const Taken taken = take();
      if (taken.node == nullptr || taken.is_last) break;
      is_reached = taken.node == newest;
      use(taken.node);
    }
    const Finished finished = finish();
    if (finished.released != nullptr && !has_fault(Fault::inbox_loses_last)) {
      is_reached = is_reached || finished.released == newest;
      use(finished.released);
    }
    if (finished.is_empty) return Drained::all;
    return is_reached ? Drained::all_but_newer : Drained::not_all;
  }

  bool is_empty() const { return tail_.load(std::memory_order_seq_cst) == nullptr; }
};

}  // namespace rubato::inline v0::native
