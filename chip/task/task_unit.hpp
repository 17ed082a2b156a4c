// A tile's task unit: queues tasks, hands them to the tile's cores, sends created tasks to other tiles, and
// spills and refills. Espresso, Sec. V-A, V-B, Fig. 6(c); C9, C10, C13, C16.
//
// What a free core is given, in this order (choose()):
//   1. a spill, if the queue is at its threshold and there is something to spill: at once if somebody waits
//   for an
//      entry, else taking turns with guest tasks, so that spilling never starves what can run;
//   2. the earliest guest task that may run;
//   3. a refill, if its tasks are needed now, or if they all fit below the threshold.
// Progress with full queues: a task unit can always spill while two guest tasks are idle, on a stalled core
// if all its cores are busy or stalled (the core's pipeline waits; its port to memory is free); freed entries
// are promised to those that were refused, in order; the last entry is for tasks with the GVT's timestamp,
// and one is for refill tasks, so tasks that the GVT waits for can always be read back.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/memory_system.hpp"
#include "chip/config/config.hpp"
#include "chip/noc/network.hpp"
#include "chip/stats/abort_profile.hpp"
#include "chip/stats/registry.hpp"
#include "chip/task/arbiter.hpp"
#include "chip/task/commit_queue.hpp"
#include "chip/task/dispatch_rule.hpp"
#include "chip/task/send_buffer.hpp"
#include "chip/task/spill_area.hpp"
#include "chip/task/task_mapper.hpp"
#include "chip/task/task_observer.hpp"
#include "chip/task/task_pool.hpp"
#include "chip/task/task_queue.hpp"
#include "chip/task/task_system.hpp"
#include "chip/time/timeline.hpp"

namespace rubato::chip {

/// Events that task units schedule; the payload is tile << 32 | slot of the send buffer of that tile.
enum class TaskEvent : std::uint32_t {
  create_arrives,    ///< at the destination
  granted_arrives,   ///< the same, sent again after a grant
  accepted_arrives,  ///< acknowledgement at the creator's tile
  refused_arrives,   ///< the destination is full and will grant an entry later
  grant_arrives,     ///< it has one now
  borrowed_step,     ///< next step of a spill on a stalled core of the tile
};

/// What all task units of a chip share.
struct TaskContext {
  const Config& config;
  Timeline& timeline;
  Network& network;
  MemorySystem& memory;
  TaskHost& host;
  EventHandler* events = nullptr;  ///< receives TaskEvents
  Arbiter* arbiter = nullptr;      ///< null on a one-core chip
  const DispatchRule* rule = nullptr;
  TaskObserver* observer = nullptr;
  AbortProfile aborts{};
  TaskPool pool{};
  std::unique_ptr<TaskMapper> mapper{};
  Rng rng;
  std::uint64_t next_id = 1;

  /// A record for `descriptor`, created now: id and tie are given in order of creation.
  Task* make_task(const TaskDescriptor& descriptor, std::uint64_t parent);
};

class TaskUnit final : public RoundParticipant {
 public:
  TaskUnit(TaskContext& context, std::vector<std::unique_ptr<TaskUnit>>& tiles, TileId tile, Addr spill_base,
           std::uint64_t spill_bytes);
  void register_stats(StatRegistry& registry) const;

  // Calls of cores; `core` is of this tile. See TaskSystem.
  CreateOutcome create(CoreId core, const TaskDescriptor& task, Cycle now);
  std::optional<DispatchedTask> dispatch(CoreId core, Cycle now);
  std::optional<Cycle> step_internal(CoreId core, Cycle now);
  void finish(CoreId core, Cycle now);
  /// Null if none runs there.
  const Task* running(CoreId core) const { return slots_[slot_of(core)].task; }

  void begin_region(Cycle now);
  /// Tasks that exist before the region, of one lane, in ascending order: batches behind one refill task
  /// (C4).
  void add_initial(const std::vector<Task*>& tasks);

  TileReport report() const override;
  void on_gvt(Cycle now) override;
  void on_event(TaskEvent event, std::uint32_t slot, TileId from, Cycle now);

  /// Where the task in this entry of the send buffer goes.
  TaskUnit& destination_of(std::uint32_t slot) { return *tiles_[send_.entry(slot).to.value]; }

  void describe_waiting(std::string& out) const;
  /// As last broadcast to this tile; without an arbiter what the tile itself knows.
  VirtualTime gvt() const { return context_.arbiter != nullptr ? context_.arbiter->gvt_at(tile_) : own_gvt_; }
  std::uint64_t created() const { return stats_.created; }
  std::uint64_t finished() const { return stats_.finished; }
  std::uint64_t spilled() const { return stats_.spilled; }
  const TaskQueue& queue() const { return queue_; }
  const SendBuffer& send_buffer() const { return send_; }

 private:
  enum class CoreState : std::uint8_t {
    busy,      ///< between tasks: has not asked for work yet
    idle,      ///< asked, there was none
    waking,    ///< told to ask again
    running,   ///< a guest task
    stalled,   ///< a guest task whose create waits for room
    internal,  ///< a spill or refill
  };
  struct CoreSlot {
    CoreState state = CoreState::busy;
    Task* task = nullptr;
    TileId destination{};   ///< of the create that stalled
    bool granted = false;   ///< the stalled create may go on
    bool borrowed = false;  ///< a spill runs on this stalled core
    DispatchedTask::Kind internal_kind = DispatchedTask::Kind::guest;
  };
  struct Waiting {  ///< for an entry of this task queue
    bool local;
    std::uint32_t slot;  ///< core slot here, or send buffer slot of `from`
    TileId from;
    bool has_timestamp;
    Timestamp timestamp;
  };
  struct Choice {
    enum { none, guest, spill, refill } kind = none;
    Task* task = nullptr;
  };
  struct Spill {
    bool active = false;
    std::vector<Task*> tasks;
    std::size_t written = 0;
    std::uint32_t batch = SpillArea::kNoBatch;
    std::vector<LineAddr> lines;  ///< of the overflow list, still to be touched
    std::size_t touched = 0;
    Cycle done{};  ///< all stores so far are performed
  };
  struct Refill {
    Task* task = nullptr;  ///< the running refill task; null while the last lines are touched
    bool active = false;
    bool loaded = false;  ///< the next descriptor has arrived
    std::vector<LineAddr> lines;
    std::size_t touched = 0;
  };

  std::uint32_t slot_of(CoreId core) const { return core.value - first_core_; }
  CoreId core_of(std::uint32_t slot) const { return CoreId{first_core_ + slot}; }
  bool is_earliest(bool has_timestamp, Timestamp t) const { return has_timestamp && t <= gvt().timestamp; }
  std::uint32_t send_reserve(const Task& creator) const;

  /// At the start of everything that may change the report.
  void touch() {
    if (context_.arbiter != nullptr) context_.arbiter->touch(tile_);
  }

  Choice choose(Cycle now);
  Task* earliest_runnable();
  void start_guest(Task* task, std::uint32_t slot, Cycle now);
  /// Gives work to an idle or stalled core if there is some. After every change that may allow something.
  void evaluate(Cycle now);
  bool is_empty() const;

  // Enqueue protocol (Fig. 6).
  void accept(Task* task, Cycle now);
  void send_create(std::uint32_t slot, TaskEvent event, Cycle now);
  void answer(TileId to, std::uint32_t slot, TaskEvent event, Cycle now);
  void receive(TileId from, std::uint32_t slot, bool granted, Cycle now);
  void acknowledged(std::uint32_t slot, Cycle now);
  void serve_waiting(Cycle now);
  void serve_send_waiting(Cycle now);
  void go_on(std::uint32_t slot, Cycle now);

  // Spills and refills (task_unit_spill.cpp).
  bool can_spill() const;
  void start_spill();
  std::optional<Cycle> step_spill(CoreId core, Cycle now);
  void borrow_stalled_core(Cycle now);
  bool may_refill(const Task& refill) const;
  bool may_read_next(const Task& refill) const;
  void start_refill(Task* refill);
  std::optional<Cycle> step_refill(CoreId core, Cycle now);
  void park_refill(Task* refill);
  void place_refill(Task* refill, bool entry_is_free, std::vector<LineAddr>& lines);
  void insert_refill(Task* refill);
  void settle_overflow(std::vector<LineAddr>& lines);
  void update_refill(Task* refill);
  Task* make_refill(std::uint32_t batch);
  std::optional<Cycle> touch_lines(CoreId core, std::vector<LineAddr>& lines, std::size_t& touched,
                                   Cycle now);

  /// Before every change of the number of entries.
  void account_occupancy(Cycle now) {
    occupancy_.add(queue_.entries(), now - occupancy_since_);
    occupancy_since_ = now;
  }

  TaskContext& context_;
  std::vector<std::unique_ptr<TaskUnit>>& tiles_;
  TileId tile_;
  std::uint32_t first_core_, cores_;
  TaskQueue queue_;
  CommitQueue commit_queue_;
  SendBuffer send_;
  SpillArea area_;
  std::uint32_t spill_threshold_;  ///< entries
  std::uint32_t max_refills_;      ///< refill tasks in the queue

  std::array<CoreSlot, kMaxCoresPerTile> slots_{};
  std::deque<Waiting> waiting_;
  std::deque<std::uint32_t> send_waiting_;  ///< core slots
  std::vector<Task*> refills_;              ///< idle ones, latest first
  Spill spill_;
  Refill refill_;
  bool spilled_since_dispatch_ = false;
  static constexpr std::uint32_t kDispatchesPerRefill = 64;
  std::uint32_t dispatches_since_refill_ = 0;
  VirtualTime own_gvt_{};  // of a chip without an arbiter

  struct Stats {
    std::uint64_t created = 0, dispatched = 0, finished = 0, local = 0, remote = 0, refused = 0, spilled = 0,
                  refilled = 0, spills = 0, borrowed = 0, refills = 0, queue_stalls = 0, send_stalls = 0;
  } stats_;
  Histogram occupancy_;
  Cycle occupancy_since_{};
};

}  // namespace rubato::chip
