// State that few actors need: beside the cell, made when it is first needed (A24).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "rubato/actor/restarts.hpp"
#include "rubato/engine/actor_cell.hpp"
#include "rubato/engine/inlets.hpp"
#include "rubato/group.hpp"

namespace rubato::inline v0::engine {

/// First in, first out; nodes linked by `next`.
template <class Node>
class BasicNodeList {
 public:
  bool is_empty() const { return first_ == nullptr; }
  Node* first() const { return first_; }
  void append(Node* node) {
    node->next.store(nullptr, std::memory_order_relaxed);
    if (first_ == nullptr) {
      first_ = node;
    } else {
      last_->next.store(node, std::memory_order_relaxed);
    }
    last_ = node;
  }
  void append(BasicNodeList& other) {
    while (!other.is_empty()) append(other.take());
  }
  Node* take() {
    Node* const node = first_;
    first_ = node->next.load(std::memory_order_relaxed);
    return node;
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};
using NodeList = BasicNodeList<MessageNode>;

/// Messages that a turn has taken from the mailbox and not handled yet; only for an actor with an urgent
/// lane.
template <class Node>
struct BasicLanes {
  BasicNodeList<Node> high, normal;
  Node* last = nullptr;  ///< the mailbox' last node, which it keeps
  unsigned passed = 0;   ///< urgent ones handled while others waited
};

/// Makes a behavior anew where the failed one was.
struct Remake {
  virtual ~Remake() = default;
  virtual void operator()(void* where) = 0;
};

/// Link of a list of timers, which the engine guards.
struct TimerLink {
  TimerLink* next = nullptr;
  TimerLink** place = nullptr;  ///< what points to this one; null: in no list
};

/// A time-out for idleness.
struct IdleTimeout {
  std::int64_t period = 0;  ///< nanoseconds; 0: none
  std::uint64_t last = 0;   ///< when the last message had been handled
  std::uint64_t round = 0;  ///< of the timer that counts
  std::uint64_t timer = 0;  ///< its number
  std::uint64_t due = 0;    ///< when it is due; 0: there is none
};

/// The longest handler of an actor that was timed and took long (native engine).
struct LongestHandler {
  std::uint64_t nanoseconds = 0;
  const std::type_info* message = nullptr;
};

struct Extras {
  NodeList stash;      ///< put aside
  NodeList unstashed;  ///< back, before what waits in the mailbox
  std::vector<std::uint64_t> watchers;
  std::string name;
  std::unique_ptr<Remake> remake;  ///< of one that may be made again
  Restarts limits{};
  std::uint64_t window_began = 0;  ///< nanoseconds: restarts are counted within limits.within
  unsigned restarts = 0;
  bool has_failed = false;         ///< and is stopped therefore
  bool waits_for_restart = false;  ///< by a timer, which failed runs leave as well
  TaskGroup* group = nullptr;
  std::uint64_t muted_by = 0;        ///< the receiver that has too much
  bool has_killed_children = false;  ///< it ends, and was killed
  BasicLanes<MessageNode> lanes;
  bool has_had_timers = false;
  IdleTimeout idle;
  LongestHandler longest;
  std::unique_ptr<Inlets> inlets;  ///< its channels
  bool may_lag = true;             ///< Spawn::lag
  /// Record of the native engine's lagging, if it lags turns (native/lag/record.hpp).
  std::unique_ptr<void, void (*)(void*)> lag{nullptr, [](void*) {}};
  bool has_own_thread = false;  ///< Spawn::thread
  /// A message is on that thread, which may change the rest of this object and the cell's flags.
  bool is_away = false;
  /// The native engine's thread of this actor, from its first message on (native/worker/own_threads.hpp).
  std::unique_ptr<void, void (*)(void*)> thread{nullptr, [](void*) {}};
  TimerLink* timers = nullptr;  ///< of its messages and asks; guarded by the engine's table of timers
};

}  // namespace rubato::inline v0::engine
