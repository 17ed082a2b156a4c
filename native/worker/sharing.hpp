// Exchange of tasks between workers: published chunks. R2 and R10. The worth of tasks: Worth; pools:
// WorkerPools.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "native/pool/task_list.hpp"
#include "native/worker/worth.hpp"

namespace rubato::inline v0::native {

class Shared;
class Worker;

class Sharing {
 public:
  explicit Sharing(Worker& worker);

  /// Other workers are idle: gives them some, if there is enough to do.
  void share() {
    if (looks_skipped_ == 0) return look_and_share();
    --looks_skipped_;
  }
  void share_if_wanted();
  /// Looks in other workers' ready pools and published chunks.
  bool steal();
  /// By the watch, which has seized the worker. None is published, and the chain is not empty.
  void publish_for_worker(const Chain& chain);
  /// Publishes a turn that the running task has made due, beside what is published already. False: no worker
  /// is idle, or a task wants to run alone.
  bool publish_one(Task* task);
  /// Takes back its published chunk, if no worker has taken it: to the front, where it came from.
  [[gnu::noinline]] bool take_back();
  /// The same if it was published so many microseconds ago.
  void take_back_after(std::uint64_t microseconds);
  /// Takes private tasks out of the ring's end again, all but `keep`: they can be given away then.
  void return_ring(unsigned keep);
  /// For wake(): a certain worker must wake up, and events cannot choose one.
  static constexpr std::uint64_t kAll = std::numeric_limits<int>::max();
  /// So many workers, if they sleep.
  void wake(std::uint64_t workers = 1);
  /// Time so far does not count for this worker's tasks.
  void time_from_here();
  /// The measured length of a task has changed.
  void update_worth();

  const Worth& worth() const { return worth_; }
  /// A chunk of its own tasks is published, or was taken: they are not handed out one by one.
  bool was_robbed() const { return was_robbed_; }

 private:
  void look_and_share();
  void measure(std::uint64_t now);
  const Task* next_task();
  void publish(const Chain& chain);
  bool take_published(Worker& from);

  Worker& worker_;
  Shared& shared_;
  Worth worth_;
  unsigned looks_skipped_ = 0;
  unsigned looks_ = 0;  // at whether to share, since it last did
  bool was_robbed_ = false;
  std::uint64_t published_at_ = 0;  // the chunk, in ticks
  /// How many own tasks were taken when a chunk of them came back: nothing is offered again before this
  /// worker has taken some of it, or the same tasks would go to and fro for ever.
  std::uint64_t taken_at_return_ = ~std::uint64_t{0};
};

}  // namespace rubato::inline v0::native
