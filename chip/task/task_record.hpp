// A task while it is on the chip: its descriptor, its place in the order, and the links of the structures
// that hold it. Records never move: queues, buffers and batches pass pointers. Espresso, Sec. V-A; C9, C16.
//
//   state     in_flight    created, in a send buffer or in a message; no task unit has accepted it yet
//             held         a NONSPEC child at its speculative parent's tile until that commits (Fig. 6(d)),
//             or
//                          later until the send buffer takes it
//             idle         in a task queue (guest task or refill task)
//             spilling     in a task queue, being written to memory
//             spilled      in a batch in memory; counted by its batch's refill task
//             running      on a core, or suspended; a non-speculative task holds no task-queue entry any more
//             finished     its body ended, its attempt waits in the commit queue; a non-speculative task is
//                          committed by that and its record freed
//             exceptioned  stopped at what only a non-speculative task may do (C18); in the commit queue
//             rolling_back aborted; idle again, or gone if discarded, when its stores are restored
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "base/wide.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

enum class TaskState : std::uint8_t {
  free,
  in_flight,
  held,
  idle,
  spilling,
  spilled,
  running,
  finished,
  exceptioned,
  rolling_back
};

/// NONSPEC tasks with a timestamp wait for the GVT, all others need not, so they never share a heap: those at
/// a top that may not run yet would hide others behind them, as MAYSPEC tasks that are held do.
enum class Lane : std::uint8_t { timestamped, timestamped_nonspec, untimestamped, untimestamped_nonspec };
inline constexpr unsigned kLanes = 4;
inline constexpr std::array<Lane, kLanes> kAllLanes{Lane::timestamped, Lane::timestamped_nonspec,
                                                    Lane::untimestamped, Lane::untimestamped_nonspec};

struct Attempt;
struct Task;

/// An intrusive pairing heap of tasks (Fredman, Sedgewick, Sleator, Tarjan 1986) by (order, tie). push and
/// meld take constant time, pop and remove amortized logarithmic time; nothing is allocated. Invariant: a
/// root knows the heap that holds it, so that remove() needs no search. Heaps do not move.
class TaskHeap {
 public:
  TaskHeap() = default;
  TaskHeap(const TaskHeap&) = delete;
  TaskHeap& operator=(const TaskHeap&) = delete;

  bool empty() const { return root_ == nullptr; }
  Task* top() const { return root_; }
  void push(Task* task);
  Task* pop();  ///< Not on an empty heap.
  /// Moves everything from `other` into this heap.
  void meld(TaskHeap& other);
  /// Takes `task` out of whichever heap holds it.
  static void remove(Task* task);

 private:
  void set_root(Task* root);
  static Task* link(Task* a, Task* b);
  static Task* combine(Task* first);
  Task* root_ = nullptr;
};

/// Members in the order of their use, by lines of the host's caches: heaps of waiting tasks walk over the
/// first ones of many records; the second one says whether it may run, the third what; the fourth is used
/// when it is created. A flag more in front of a line moves all behind it: bench/chip_speed shows 5 %.
struct alignas(64) Task {
  static constexpr std::size_t kFirstUsed = 128;     ///< bytes
  static constexpr std::size_t kUsedAtCommit = 192;  ///< bytes

  /// The timestamp; for a task without, the later of its speculative parent's and the GVT's when a task unit
  /// accepted it.
  Timestamp order = 0;
  std::uint64_t tie = 0;  ///< orders tasks of equal `order`: creation order, perturbed by the seed (C29)
  /// Same-locale tasks of the same lane that wait behind this one; only of tasks in a ready heap.
  TaskHeap followers;

 private:
  friend class TaskHeap;
  Task* heap_child_ = nullptr;
  Task* heap_next_ = nullptr;
  Task* heap_previous_ = nullptr;  ///< parent of a first child, else the sibling before; null: a root
  TaskHeap* holder_ = nullptr;     ///< of a root

 public:
  TaskState state = TaskState::free;
  bool is_ready = false;  ///< in the heap of its lane's ready tasks
  bool is_refill : 1 = false;
  bool is_discarded : 1 = false;  ///< its parent was aborted: gone as soon as nothing holds it
  /// Refused before, it was promised an entry while its parent was uncommitted.
  bool granted_uncommitted : 1 = false;
  bool is_suspended : 1 = false;  ///< running, but without a core: it waits in a system call (C18)
  bool is_promoted : 1 = false;   ///< runs next on its tile, alone among non-speculative tasks (C18)
  bool is_read_back : 1 = false;  ///< from memory, and not spilled again
  bool is_throttled : 1 = false;  ///< a MAYSPEC task in the lane of NONSPEC ones, until it is spilled
  bool waits : 1 = false;         ///< its body ended so: it is not done, but is created again
  TileId tile{};                  ///< whose task unit holds it; the creator's while in flight

  std::uint32_t index = 0;             ///< in the queue's list of idle tasks
  TileId destination{};                ///< of a held task
  Task* uncommitted_parent = nullptr;  ///< its speculative parent until that commits
  Attempt* attempt = nullptr;          ///< from speculative dispatch until commit or rollback
  VirtualTime virtual_time{};          ///< meaningful from dispatch on
  /// Its untimestamped non-speculative creator: a SPEC task is dispatched after that has ended (C10).
  const Task* creator = nullptr;
  Timestamp speculates_from = 0;  ///< MAYSPEC: not while the GVT's timestamp is earlier
  Task* next = nullptr;           ///< in a batch, or in the pool

  TaskDescriptor descriptor{};
  std::uint64_t id = 0;      ///< unique in the run, in order of creation; from 1
  std::uint64_t parent = 0;  ///< the creator's id; 0 outside tasks
  std::uint32_t aborts = 0;  ///< attempts that it has aborted, running non-speculatively
  std::uint32_t lost = 0;    ///< attempts of it that non-speculative tasks have aborted
  std::uint32_t batch = 0;   ///< of a refill task: what it reads back

  /// A SPEC task whose untimestamped non-speculative creator still runs may not be dispatched (C10).
  bool waits_for_creator() const {
    return descriptor.type != TaskType::nonspec && creator != nullptr && creator->id == parent &&
           creator->state == TaskState::running;
  }
  Lane lane() const {
    const unsigned nonspec = descriptor.type == TaskType::nonspec || is_throttled ? 1 : 0;
    return static_cast<Lane>((descriptor.has_timestamp ? 0U : 2U) + nonspec);
  }
  bool before(const Task& other) const { return wide(order, tie) < wide(other.order, other.tie); }
};

}  // namespace rubato::chip
