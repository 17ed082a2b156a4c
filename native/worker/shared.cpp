// SPDX-License-Identifier: MIT
#include "native/worker/shared.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "native/clock.hpp"
#include "native/fault.hpp"
#include "native/topology/topology.hpp"
#include "native/worker/worker.hpp"
#include "rubato/resource.hpp"

namespace rubato::inline v0::native {

Shared::Shared(bool uses_malloc)
    : heap({.group_nodes = machine().group_nodes(), .uses_malloc = uses_malloc}) {}
Shared::~Shared() = default;

const Topology& Shared::machine() {
  // For as long as the engine: never freed. Not constant: a test gives a machine of one node another.
  static Topology& machine = *new Topology(this_machine());
  return machine;
}

bool Shared::pins_workers() const { return options_.bind && machine().pins(workers()); }

unsigned Shared::worker_at(std::uint32_t place, unsigned number) const {
  if ((place & engine::kOnNode) == 0) return std::min<unsigned>(place, workers());
  const bool has_node = place != engine::kAnywhere && pins_workers();
  return has_node ? machine().worker_on(place & ~engine::kOnNode, number) : workers();
}

bool Shared::is_at(unsigned worker, std::uint32_t place) const {
  if ((place & engine::kOnNode) == 0) return worker == place;
  return place == engine::kAnywhere || machine().allowed[worker].node == (place & ~engine::kOnNode);
}

std::optional<unsigned> Shared::node_of_worker(unsigned worker) const {
  if (!pins_workers()) return std::nullopt;
  return machine().allowed[worker].node;
}

void Shared::refuse_copy(const char* what) const {
  if (!is_copy_) return;
  throw TaskError(
      std::string(what) +
      " is called in a process that was forked after the engine had started, whose threads stayed "
      "in the parent: fork before the first task, or let the child exec() a program");
}

void Shared::prepare(engine::ThreadState& thread) const {
  thread.choices = choices_.data();
  thread.has_pools = has_pools_.load(std::memory_order_relaxed);
}

bool Shared::has_cpus() const { return workers() <= machine().allowed.size(); }

Sums Shared::sums() const {
  Sums sums{.created = 0, .finished = 0};
  for (const auto& worker : workers_) sums.finished += worker->counts.finished.get_ordered();
  for (const auto& worker : workers_)
    sums.created += worker->created.load(std::memory_order_relaxed) + worker->counts.submitted.get();
  sums.created += copies.load(std::memory_order_seq_cst);
  return sums;
}

bool Shared::has_work_for_anybody() const { return !inbox_ready.is_empty() || has_work_at_workers(); }
bool Shared::has_work_at_workers() const {
  for (const auto& worker : workers_) {
    const SeenByOthers& seen = worker->seen;
    if (seen.has_published() || seen.has_ready_pools() || seen.has_work_of_its_own()) return true;
  }
  return false;
}

void Shared::report_blocked() noexcept {
  const std::uint64_t blocked = groups.blocked();
  const Task* const first = groups.first();
  try {
    const std::string name = first != nullptr ? name_of(*first) : std::string("unknown");
    const auto at = first != nullptr ? timestamp_if_any(*first) : std::nullopt;
    throw TaskError(errors::blocked_groups(blocked, {name, at}), name, at);
  } catch (...) {
    failure.add(std::current_exception());
  }
  stop();
}

bool Shared::is_run_by_caller() const {
  return (engine::current_thread != nullptr && engine::current_thread->is_worker) ||
         runner_.load() == std::this_thread::get_id();
}

bool Shared::is_own_thread() { return OwnThread::is_here(); }

bool Shared::is_stranger() const {
  return is_running() && holds() == 0 && unset_events.count() == 0 && turn.taker() == RunTurn::Taker::run &&
         std::this_thread::get_id() != runner_.load();
}

void Shared::push_outside(Task* first, Task* last) {
  if (!inbox.push(first, last)) return;
  inbox_ready.add(0, kNormalRank);
  // Looks again: a run() that began meanwhile may have found the inbox empty. Ordered against that as work is
  // against can_find_work().
  if (is_running_.load(std::memory_order_seq_cst) && !has_fault(Fault::silent_arrival)) {
    if (options_.lagging.kind != Lagging::Kind::off && events.has_sleepers())
      woken_at.store(ticks(), std::memory_order_relaxed);
    events.notify_last();
  }
}

void Shared::retire(engine::ResourceHeader* header) {
  if (!is_running_.load(std::memory_order_seq_cst)) return header->destroy(header);
  if (engine::current_thread != nullptr && engine::current_thread->is_worker) {
    return epochs->retire(*engine::current_thread->epoch, header);
  }
  {
    const std::lock_guard lock(retired_mutex_);
    if (is_running_.load(std::memory_order_seq_cst)) {  // else run() has looked already
      header->next_retired = std::exchange(retired_, header);
      return;
    }
  }
  header->destroy(header);
}

void Shared::retire_later(engine::ResourceHeader* header) {
  if (is_running()) return retire(header);
  const std::lock_guard lock(retired_mutex_);
  header->next_retired = std::exchange(retired_, header);
}

}  // namespace rubato::inline v0::native
