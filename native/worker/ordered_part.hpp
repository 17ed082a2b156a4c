// A worker's part in timestamp order; the rules are in native/order/order.hpp. R9.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "native/order/order.hpp"
#include "native/order/packed_tasks.hpp"
#include "native/order/radix_heap.hpp"
#include "native/pool/task_list.hpp"

namespace rubato::inline v0::native {

class Shared;
class PrivateTasks;
class Worker;

class OrderedPart {
 public:
  explicit OrderedPart(Worker& worker);

  // ---- Tasks ----
  /// Its creator runs, or has just ended and is not counted as finished yet; or nothing runs (the inbox).
  void route(Task* task);
  /// A counted task of the current timestamp, which may run now.
  void append_current(Task* task);
  /// A task has ended.
  void end_task();
  /// Tasks that ended and were created here count for all workers from here on.
  void settle();
  /// The next packed one as a task; the list must not be empty.
  Task* unpack(PackedTasks& list);

  // ---- The owner of the order ----
  bool owns_order() const { return order_.owner.load(std::memory_order_relaxed) == index_; }
  /// Whether tasks of the current timestamp, which only the owner runs, have not ended.
  bool is_inline() const;
  /// On to the next timestamp. @returns whether there is something to run, here or elsewhere.
  bool advance();
  /// With an empty ring: timestamps of few tasks, one after the other, without the ring. Stops when anything
  /// else wants the worker's attention; what is left is in the lists.
  void run_in_order();
  /// In the middle of an inline phase: others take part from now on. False: not possible at the moment.
  bool share_phase();
  /// Between two phases or with nothing to run.
  void leave_inline();
  /// Opens the pools to all workers again. A worker that found them closed may sleep: ordered against its
  /// look as work is against Idling::can_find_work().
  void end_inline();

  // ---- Any worker, in a shared phase ----
  /// While the owner runs tasks of the current timestamp outside their pools, no other takes from a pool:
  /// what is in it then has no timestamp, but may share its locale with one of them.
  bool may_take_pools() const;
  /// The same for an idle worker. It does not look at `left`, which the next run may set meanwhile: after a
  /// failure a worker may still look for work when run() has returned. An idle owner has left the inline
  /// phase, or has tasks left, which wait for groups (Worker::find_work()).
  bool are_pools_open() const;
  /// Distributes this worker's part of a shared phase, if another began one.
  bool distribute_if_asked();
  /// Few tasks at once: what is handed out is still in the cache when it runs. @returns whether there was
  /// anything.
  bool distribute_slice();
  /// Work that only an idle worker would do. `are_tasks_long`: of this worker.
  void look_after_rest(bool are_tasks_long);

  // ---- Outside run() ----
  void set_prefetching(bool is_on) { heap_.set_prefetching(is_on); }
  void reset();
  /// After a failure: destroyed unrun.
  void drop_packed(PackedTasks& list);
  template <class Drop>
  void drop_rest(Drop drop) {
    flush_parts();  // what was about to go into pools is destroyed there
    while (!rest_.is_empty()) drop(rest_.take());
  }
  /// The same of later timestamps, when all workers have stopped; `self` is of the one that does it.
  template <class Drop>
  void drop_later(OrderedPart& self, Drop drop) {
    for (Chain chain = heap_.clear(); !chain.is_empty();) drop(chain.take());
    for (unsigned i = 0; i < packed_later_.lists(); ++i) {
      PackedTasks list = packed_later_.take(i);
      self.drop_packed(list);
    }
    phase_delta_ = 0;
  }

 private:
  void keep(Task* task, std::uint64_t at);
  bool pack(Task* task, std::uint64_t at);
  RadixHeap::Earliest earliest() const;
  bool has_linked(std::uint64_t at) const { return !heap_.is_empty() && heap_.min() == at; }
  bool has_packed(std::uint64_t at) const { return !packed_later_.is_empty() && packed_later_.at() == at; }
  void gather_packed(PackedTimestamp& packed);
  void append_part(unsigned index, Task* task);
  void flush_parts();
  bool advance_all();
  bool is_worth_less(std::uint64_t count) const;
  bool begin_inline(OrderedPart& holder, std::uint64_t at);
  bool begin_packed(OrderedPart& holder, std::uint64_t at);
  bool append_inline(Chain chain);
  void begin_shared(std::int64_t unfinished);
  void begin_large(std::uint64_t at);
  void distribute_own();
  void distribute(Chain chain);
  bool may_run_inline();
  bool begin_to_run_inline();

  Worker& worker_;
  Shared& shared_;
  Order& order_;
  PrivateTasks& lists_;
  const unsigned index_;  // the worker's
  const bool has_pools_;
  RadixHeap heap_;  // tasks of later timestamps; so are the packed ones
  PackedTimestamp packed_later_;
  PackedChunks packed_chunks_;
  std::int64_t phase_delta_ = 0;  // created minus ended in a shared phase, and not settled
  Chain rest_;                    // of its part of a shared phase: counted, not handed out yet
  std::uint64_t finished_at_slice_ = 0;
  std::vector<Chain> parts_;  // of append_part(), a pool
  std::vector<unsigned> touched_;
  std::vector<OrderedPart*> others_;  // scratch of begin_large()
};

}  // namespace rubato::inline v0::native
