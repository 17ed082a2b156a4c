// A worker's way to pools: from which it takes batches, when it lets others have them, and where a pool
// becomes ready. R2 and R5.
// SPDX-License-Identifier: MIT
#pragma once

#include "native/order/task_pool.hpp"
#include "native/pool/atomics.hpp"
#include "native/pool/ready_set.hpp"

namespace rubato::inline v0::native {

class Shared;
struct SeenByOthers;
class Worker;

class WorkerPools {
 public:
  explicit WorkerPools(Worker& worker);

  void push(TaskPool& pool, Task* first, Task* last);
  /// The batch that was taken from it has run.
  void finish(TaskPool& pool);
  void make_ready(TaskPool& pool);
  /// A batch of this priority into the ring, from a pool of this worker's or, to steal it, of another's.
  bool take_own(ReadySet<StdAtomics>& set, unsigned rank) { return take_from(set, rank, true); }
  bool steal(ReadySet<StdAtomics>& set, unsigned rank) { return take_from(set, rank, false); }
  // Once pools have places (SharedPools::have_places()):
  /// Whether another worker has a ready pool that this one may take.
  bool may_steal_from(const SeenByOthers& other) const;
  /// How many of its ready pools others may take, about.
  unsigned offered() const;
  /// The ring is about to be filled.
  void note_refill();

 private:
  bool take_from(ReadySet<StdAtomics>& set, unsigned rank, bool is_own);
  void make_ready_at_place(TaskPool& pool, unsigned rank);
  unsigned tasks_for_here(const TaskPool& pool, unsigned most) const;
  std::uint64_t allowed(unsigned word, std::uint64_t bits) const;
  void take_batch(TaskPool& pool);
  void take_packed(TaskPool& pool);

  Worker& worker_;
  Shared& shared_;
  unsigned last_claimed_ = 0;
  unsigned times_left_ = 0;  // refills that left ready pools to others, since tasks are long
};

}  // namespace rubato::inline v0::native
