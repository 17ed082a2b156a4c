// A tile's task unit: queues tasks, hands them to the tile's cores, sends created tasks to other tiles, and
// spills and refills. Espresso, Sec. V-A, V-B, Fig. 6(c); C9, C10, C13, C16.
//
// What a free core is given, in this order (choose()):
//   1. a spill, if the queue is at its threshold and there is a batch to spill, or fewer and no room: at once
//      if somebody waits for an entry, else taking turns with guest tasks, so that spilling never starves
//      what can run;
//   2. the earliest guest task that may run;
//   3. a refill, if its tasks are needed now, or fit below the threshold with those of running
//      refills; before 2 if it has earlier tasks.
// Speculative tasks (task_unit_speculation.cpp) keep their task-queue entry until they commit; when their
// body ends their attempt takes a commit-queue entry. An earlier task takes the core, the locale or the
// commit-queue entry of the latest attempt that has it (C9, C17); such aborts happen as events of their own,
// never inside a core's action.
// Progress with full queues: a task unit can always spill while two guest tasks are idle, on a stalled core
// if all its cores are busy or stalled (the core's pipeline waits; its port to memory is free); freed entries
// are promised to those that were refused, in order; the last entry is for tasks with the GVT's timestamp,
// and one is for refill tasks, so tasks that the GVT waits for can always be read back.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/config/config.hpp"
#include "chip/conflict/conflict_detector.hpp"
#include "chip/noc/network.hpp"
#include "chip/speculation/abort_profile.hpp"
#include "chip/speculation/task_observer.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/stats/registry.hpp"
#include "chip/task/abort_cascade.hpp"
#include "chip/task/arbiter.hpp"
#include "chip/task/attempt_pool.hpp"
#include "chip/task/commit_queue.hpp"
#include "chip/task/core_states.hpp"
#include "chip/task/dispatch_rule.hpp"
#include "chip/task/group_waits.hpp"
#include "chip/task/promotion.hpp"
#include "chip/task/send_buffer.hpp"
#include "chip/task/speculation_throttle.hpp"
#include "chip/task/spill_area.hpp"
#include "chip/task/task_fault.hpp"
#include "chip/task/task_mapper.hpp"
#include "chip/task/task_pool.hpp"
#include "chip/task/task_queue.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

/// Events that task units schedule, for themselves and for each other; the payload is tile << 32 | slot of
/// the send buffer of that tile.
enum class TaskEvent : std::uint32_t {
  create_arrives,    ///< at the destination
  granted_arrives,   ///< the same, sent again after a grant
  accepted_arrives,  ///< acknowledgement at the creator's tile
  refused_arrives,   ///< the destination is full and will grant an entry later
  grant_arrives,     ///< it has one now
  borrowed_step,     ///< next step of a spill on a stalled core of the tile
  rollback_step,     ///< next step of a rollback; slot: the attempt's number
  reconsider,        ///< an attempt may have to make room for an earlier task, or an idle core has work
  patience_ends,     ///< with an attempt that keeps somebody from a core or a locale; slot: a Need
};

/// What all task units of a chip share.
struct TaskContext {
  const Config& config;
  Timeline& timeline;
  Network& network;
  MemorySystem& memory;
  TaskHost& host;
  Arbiter* arbiter = nullptr;  ///< null on a one-core chip
  const DispatchRule* rule = nullptr;
  TaskObserver* observer = nullptr;
  AbortProfile profile{};
  ConflictDetector* detector = nullptr;    ///< null: nothing speculates
  CycleAccount* account = nullptr;         ///< with a detector
  AbortCascade* aborts = nullptr;          ///< with a detector
  Promotion* promotion = nullptr;          ///< with a detector
  std::optional<TaskType> mayspec_type{};  ///< what MAYSPEC tasks are run as, if not as themselves
  /// What a task of type `type` is run as. Observers are told of the task as the program created it.
  TaskType runs_as(TaskType type) const {
    return type == TaskType::mayspec && mayspec_type ? *mayspec_type : type;
  }
  TaskPool pool{};
  AttemptPool attempts{};
  GroupWaits waits{};
  std::vector<CoreId> waiting_for_fate{};  ///< blocked accesses (C12)
  std::vector<Attempt*> decided{};         ///< scratch of a unit's commits
  std::unique_ptr<TaskMapper> mapper{};
  Rng rng;
  std::uint64_t next_id = 1;
  TaskFault fault = TaskFault::none;

  /// A record for `descriptor`, created now: id and tie are given in order of creation.
  Task* make_task(const TaskDescriptor& descriptor, std::uint64_t parent);
  /// Attempts committed or aborted: blocked accesses may go on.
  void wake_waiting_for_fate(Cycle now);
};

class TaskUnit final : public EventHandler, public RoundParticipant, public PromotionParticipant {
 public:
  TaskUnit(TaskContext& context, std::vector<std::unique_ptr<TaskUnit>>& tiles, TileId tile, Addr spill_base,
           std::uint64_t spill_bytes);
  void register_stats(StatRegistry& registry) const;

  // Calls of cores; `core` is of this tile. See TaskSystem.
  CreateOutcome create(CoreId core, const TaskDescriptor& task, Cycle now);
  bool dispatch(CoreId core, Cycle now, DispatchedTask& work);
  Cycle step_internal(CoreId core, Cycle now);
  bool finish(CoreId core, Cycle now, bool waits);
  bool exception(CoreId core, Cycle now, bool goes_on);
  // Capsules: task_unit_capsule.cpp.
  void on_abort(CoreId core, const TaskDescriptor& handler);
  void doom(CoreId core, AbortCause cause, Cycle now);
  /// Makes tasks of them, the last one first; `core` registered them.
  void run_handlers(std::span<const TaskDescriptor> handlers, CoreId core, Cycle now);
  /// Of a doomed run.
  void run_late_handler(const TaskDescriptor& handler, CoreId core, Cycle now) {
    ++stats_.handlers_registered;
    run_handlers({&handler, 1}, core, now);
  }
  void end_doomed(CoreId core, Cycle now);
  void suspend(CoreId core, Cycle now);
  /// Of a tile that does not speculate: see TaskUnits.
  bool go_on_beside_suspended(Cycle now);
  void resume(std::uint64_t id, Cycle now);
  /// Null if none runs there.
  const Task* running(CoreId core) const { return slots_[slot_of(core)].task; }
  /// If a timestamped non-speculative task runs on `core`: it aborts so many attempts. @returns their
  /// Task::speculates_from, or 0.
  Timestamp count_aborts(CoreId core, std::size_t victims);

  void begin_region(Cycle now, std::uint32_t spare_workers);
  /// Tasks that exist before the region, of one lane, in ascending order: batches behind one refill task
  /// (C4).
  void add_initial(const std::vector<Task*>& tasks);

  TileReport report(Cycle now) override;
  void on_gvt(Cycle now) override;
  bool awaits_gvt() const override { return commit_queue_.size() != 0 || stalled_attempts_ != 0; }
  bool awaits_timestamp() const override { return is_holding_; }
  void collect_decided(VirtualTime gvt, std::vector<Attempt*>& out) const override;
  void on_stop(Cycle now) override;
  void on_resume(Cycle now) override;
  void on_grant(Task* task, Cycle now) override;
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) override;

  // Of an abort being carried out (abort_cascade.hpp), memory restored already.
  /// Stops the attempt and starts to restore its stores in time; then its task is idle again or discarded.
  void abort(Attempt* attempt, const AbortReason& reason, Cycle now);
  /// A child without attempt goes with its aborted parent, which has forgotten it.
  void discard(Task* child, Cycle now);
  /// The parent of a task that this unit holds committed.
  void parent_committed(Task* child);
  /// Memory is restored and the children of the attempt, which stopped (C18), are gone.
  void except(Attempt* attempt, const AbortReason& reason, Cycle now);
  /// An access of a core of the tile waits for the fate of an attempt.
  void on_blocked(Cycle now) {
    if (!waiting_.empty()) reconsider_later(now);
  }
  /// reconsider() is called in an event of its own.
  void reconsider_later(Cycle at);

  /// Brings the histograms of occupancy up to `now`; a core that ran ahead may have brought them further.
  void account_until(Cycle now) {
    if (now > occupancy_since_) account_occupancy(now);
    if (now > commit_occupancy_since_) account_commits(now);
  }

  void describe_waiting(std::string& out) const;
  /// As last broadcast to this tile; without an arbiter what the tile itself knows.
  VirtualTime gvt() const { return context_.arbiter != nullptr ? context_.arbiter->gvt_at(tile_) : own_gvt_; }
  std::uint64_t created() const { return stats_.created; }
  std::uint64_t committed() const { return stats_.committed; }
  std::uint64_t waited() const { return stats_.waited; }
  std::uint64_t nonspeculative() const { return stats_.nonspeculative; }
  std::uint64_t aborted() const { return stats_.aborted; }
  std::uint64_t spilled() const { return stats_.spilled; }
  bool has_suspended() const { return suspended_count_ != 0; }
  bool has_resumable() const { return !resumable_.empty(); }
  void ignore_locales() { queue_.ignore_locales(); }
  const TaskQueue& queue() const { return queue_; }
  const SendBuffer& send_buffer() const { return send_; }

 private:
  /// A blocked access of the unit is issued again after this; no protocol blocks accesses to untracked memory
  /// for long.
  static constexpr Latency kRetry = 8;
  struct CoreSlot {
    Task* task = nullptr;
    TileId mapped{};                   ///< where the task being created belongs
    TileId destination{};              ///< where it goes now: the same, or here if it is held
    bool granted = false;              ///< the stalled create may go on
    bool granted_uncommitted = false;  ///< with a task-queue entry for a child of an uncommitted parent
    bool borrowed = false;             ///< a spill runs on this stalled core
    DispatchedTask::Kind internal_kind = DispatchedTask::Kind::guest;
  };
  struct Waiting {  ///< for an entry of this task queue
    bool local;
    std::uint32_t slot;  ///< core slot here, or send buffer slot of `from`
    TileId from;
    bool has_timestamp;
    Timestamp timestamp;
  };
  /// Whom an earlier task wants to be aborted.
  struct Obstacle {
    Attempt* attempt = nullptr;
    AbortCause cause{};
    const Task* by = nullptr;  ///< null: not one task, but room for any
  };
  /// What an attempt that may never end keeps others from.
  enum class Need : std::uint8_t { core, locale };
  static constexpr std::size_t kNeeds = 2;
  struct Patience {
    static constexpr Latency kMost = 16384, kLeast = 1024;
    Latency length = kMost;     ///< halved where it was in vain, else as at the beginning
    bool is_scheduled = false;  ///< its end
    VirtualTime attempt{};      ///< with which
    std::uint32_t asks = 0;     ///< of cores, before
  };
  struct Choice {
    enum { none, guest, spill, refill, resumed } kind = none;
    Task* task = nullptr;
    RunMode mode = RunMode::non_speculative;  ///< of a guest task
  };
  /// Of the idle guest tasks whose locales are free, what may run.
  struct Candidates {
    Choice first;                    ///< the earliest, or the promoted one
    const Task* earliest = nullptr;  ///< that has a timestamp
  };
  struct Spill {
    bool active = false;
    std::vector<Task*> tasks;
    std::size_t written = 0;                    ///< tasks
    std::uint32_t stored = 0;                   ///< lines
    std::uint32_t batch = SpillArea::kNoBatch;  ///< until its refill task has a place
    std::vector<LineAddr> lines;                ///< of the overflow list, still to be touched
    std::size_t touched = 0;
    std::deque<Cycle> stores;  ///< when those under way will have been performed
  };
  struct Refill {
    Task* task = nullptr;        ///< the running refill task; null while the last lines are touched
    std::deque<Cycle> arrivals;  ///< of the next lines, which are being read
    std::vector<LineAddr> lines;
    std::size_t touched = 0;
  };

  std::uint32_t slot_of(CoreId core) const { return core.value - first_core_; }
  CoreId core_of(std::uint32_t slot) const { return CoreId{first_core_ + slot}; }
  bool is_earliest(bool has_timestamp, Timestamp t) const { return has_timestamp && t <= gvt().timestamp; }
  std::uint32_t send_reserve(const Task& creator) const;

  /// The event reaches this task unit with `slot` of its own.
  void schedule(Cycle at, TaskEvent event, std::uint32_t slot);

  /// At the start of everything that may change the report.
  void touch() {
    if (context_.arbiter != nullptr) context_.arbiter->touch(tile_);
  }

  TileView view() const {
    return {gvt(), is_stopped_, has_suspended() && !may_spec_start_, hold_from(), throttle_.get()};
  }
  std::optional<Timestamp> hold_from() const;
  Candidates candidates();
  bool waits_for_suspended(const Task& task, TileView view) const;
  Choice choose(Cycle now, std::uint32_t slot);
  Choice choose(const Choice& guest, bool guest_may_run) const;
  void start_guest(const Choice& choice, std::uint32_t slot, Cycle now);
  /// Those that have a worker for a guest task, or would get one. A bit a core.
  std::uint32_t may_run_guest() const { return spare_workers_ != 0 ? ~0U : ~without_worker_; }
  bool may_run_guest(std::uint32_t slot) const { return (may_run_guest() >> slot & 1) != 0; }
  /// A worker of those to spare for the core, unless it has one.
  void take_worker(std::uint32_t slot) {
    spare_workers_ -= without_worker_ >> slot & 1;
    without_worker_ &= ~(1U << slot);
  }
  Task* start_resumed(std::uint32_t slot, Cycle now);
  /// `task`, not null, has the core; `is_speculative`: it has an attempt, or is about to get one.
  void give_core(std::uint32_t slot, Task* task, bool is_speculative) {
    slots_[slot].task = task;
    yields_before_[slot] = is_speculative || task->descriptor.has_timestamp ? task->virtual_time.timestamp
                                                                            : kMaxVirtualTime.timestamp;
  }
  void take_core(std::uint32_t slot) {
    slots_[slot].task = nullptr;
    yields_before_[slot] = kMaxVirtualTime.timestamp;
  }
  /// Gives work to an idle or stalled core if there is some. After every change that may allow something.
  void evaluate(Cycle now);
  /// A core will soon ask for work by itself, none is to be told to, and nobody is known to have to give way:
  /// nearly always when a task ends. Whoever waits for a locale since a moment ago may not be hung there yet:
  /// that core looks closer, whether it then gets work or not.
  bool is_settled() const {
    return (states_.in(CoreState::idle) == 0 || states_.in(CoreState::waking) != 0) && has_core() &&
           waiting_.empty() && promoted_ == nullptr && queue_.waited_slots() == 0;
  }
  bool is_empty() const;

  // Enqueue protocol (Fig. 6).
  void accept(Task* task, Cycle now);
  void send_create(std::uint32_t slot, TaskEvent event, Cycle now);
  /// Sends `to` a message without a task. @returns when it arrives.
  Cycle send_word(TileId to, Cycle now) {
    return context_.network.send(tile_, to, {message::kAcknowledgement, TrafficClass::task}, now);
  }
  void answer(TileId to, std::uint32_t slot, TaskEvent event, Cycle now);
  void receive(TileId from, std::uint32_t slot, bool granted, Cycle now);
  /// The entry in `slot` of the send buffer will be acknowledged at `at`.
  void expect_acknowledgement(std::uint32_t slot, Cycle at);
  void acknowledged(std::uint32_t slot, Cycle now);
  /// Somebody waits for an entry of the send buffer from now on.
  void await_send_buffer(Cycle now);
  void serve_waiting(Cycle now);
  void serve_send_waiting(Cycle now);
  void go_on(std::uint32_t slot, Cycle now);
  bool is_of_uncommitted(const Waiting& w) const;
  bool has_room_for(const Waiting& w) const;
  void wait_for_entry(const Waiting& w, Cycle now);
  bool awaits_promotion() const;
  /// The task, created elsewhere, waits for an entry here.
  bool refused(const Task& task) const;
  bool has_committed_waiting() const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const Waiting& w) { return !is_of_uncommitted(w); });
  }
  /// Somebody waits for an entry who would get one that is free.
  bool has_waiting_for_room() const {
    return !waiting_.empty() && (queue_.has_uncommitted_share() || has_committed_waiting());
  }
  void forget_create(std::uint32_t slot, Cycle now);

  // Speculation (task_unit_speculation.cpp).
  /// `time`: the task's, which the host need not read where it has just been written.
  void start_attempt(Task* task, VirtualTime time, CoreId core);
  bool finish_attempt(std::uint32_t slot, Cycle now);
  void leave_core(std::uint32_t slot, CoreState next);
  bool has_place_for(const Attempt& attempt) const;
  Attempt* displaced_by(const Attempt& attempt) const;
  bool make_room_in_commit_queue(const Attempt& attempt, Cycle now);
  void commit(Attempt* attempt, Cycle now);
  void count_commit(const Task& task);
  void commit_children(Attempt& attempt, Cycle now);
  void release_held(Task* task, Cycle now);
  void serve_commit_sends(Cycle now);
  void learn_from_abort(const Task& task, AbortCause cause);
  /// Its handlers will not run: it commits, or goes on non-speculatively.
  void drop_handlers(Attempt& attempt);
  void settle_aborted(Attempt& attempt, const AbortReason& reason);
  void start_rollback(Attempt* attempt, Cycle now);
  void drop(Task* task, Cycle now);
  void step_rollback(Attempt* attempt, Cycle now);
  void end_rollback(Attempt* attempt, Cycle now);
  void wake_finishing(Cycle now);
  void end_exceptioned(Attempt* attempt, Cycle now);
  Attempt* need_not_be_promoted() const;
  Attempt* latest_in_commit_queue() const;
  /// Its place there, or the commit queue's size. Reads attempts only where a GVT is being decided on.
  std::size_t latest_index() const;
  void advance_earliest(Cycle now);
  void prefetch_commits(std::span<Attempt* const> attempts) const;
  bool become_nonspeculative(std::uint32_t slot, Cycle now);
  /// The commit of a parent elsewhere may allow something here that no core of the tile will look for by
  /// itself.
  bool awaits_commits() const {
    return (states_.in(CoreState::idle) != 0 && queue_.guests() != 0) || has_claims() ||
           stalled_attempts_ != 0 || commit_queue_.has_exceptioned() || !resumable_.empty() ||
           queue_.earliest_aside() != nullptr || has_idle_untimed();
  }
  /// Somebody waits for an entry of the queue, spilled tasks to be read, or a promoted one to start.
  bool has_claims() const {
    return !waiting_.empty() || !refills_.empty() || untimed_refill_ != nullptr || promoted_ != nullptr;
  }

  // Who makes room for whom (task_unit_room.cpp).
  void reconsider(Cycle now);
  /// True if find_obstacle() would find nothing: nearly always, and soon seen.
  bool is_unobstructed(const Candidates& candidates) const {
    if (has_claims() || queue_.waited_slots() != 0 || !resumable_.empty()) return false;
    const Task* const first = candidates.first.task;
    if (first == nullptr) return candidates.earliest == nullptr;
    return has_core() || (first->descriptor.has_timestamp && first->order > gvt().timestamp &&
                          !precedes_all_running(first->order));
  }
  Obstacle find_obstacle(const Candidates& candidates) const;
  /// All tasks here have timestamps, and nobody waits for anything but a core or a locale: mostly so.
  bool is_plain() const {
    return !has_claims() && suspended_count_ == 0 && queue_.idle(Lane::timestamped) == queue_.guests();
  }
  /// Of a plain tile that has a task with a free locale, or not: false if find_obstacle() would find nothing.
  bool may_have_obstacle(bool has_free) const {
    for (std::uint32_t rest = queue_.waited_slots(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
      const Task* const waiter = queue_.waiter(slot, Lane::timestamped);
      if (waiter != nullptr && waiter->order < yields_before_[slot]) return true;
    }
    if (!has_free || has_core()) return false;
    const Timestamp first = queue_.earliest_free_order(Lane::timestamped);
    return first <= gvt().timestamp || precedes_all_running(first);
  }
  /// One is free, or soon will be, for a guest task.
  bool has_core() const { return (states_.asking() & may_run_guest()) != 0; }
  Attempt* latest_running() const;
  Attempt* latest_waiting() const;
  /// Its attempt could go on only with an entry it waits for: the core does nothing for it.
  bool is_waiting_for_entry(std::uint32_t slot) const {
    return (waiting_for_entry() >> slot & 1) != 0 && !slots_[slot].granted;
  }
  std::uint32_t waiting_for_entry() const {
    return states_.in(CoreState::stalled) | states_.in(CoreState::finishing);
  }
  bool precedes_all_running(Timestamp order) const {
    Timestamp first = yields_before_[0];
    for (std::uint32_t slot = 1; slot < kMaxCoresPerTile; ++slot)
      first = std::min(first, yields_before_[slot]);
    return order < first;
  }
  const Task* untimestamped_waiting(const Candidates& candidates) const;
  const Task* untimestamped_waiter(std::uint32_t slot) const;
  Obstacle perhaps_endless(Need need, const Candidates& candidates) const;
  void bear(Need need, const Candidates& candidates, Cycle now);
  void end_patience(Need need, Cycle now);
  void give_way(const Obstacle& obstacle, Cycle now);
  /// Of a task without a timestamp, if it is dispatched now.
  Timestamp speculative_timestamp(const Task& task) const {
    return std::max(task.order, context_.arbiter->sampled().timestamp);
  }
  Attempt* latest_spillable() const;
  /// The core's pipeline waits, perhaps for long: its port is free.
  bool is_waiting(std::uint32_t slot) const {
    const CoreState state = states_[slot];
    return state == CoreState::stalled || state == CoreState::finishing ||
           (state == CoreState::running &&
            std::find(context_.waiting_for_fate.begin(), context_.waiting_for_fate.end(), core_of(slot)) !=
                context_.waiting_for_fate.end());
  }
  void set_aside_children();
  void poll_blocked_creators(Cycle now);
  void report_quiet(Cycle now);
  bool is_earliest(const Attempt& attempt) const { return attempt.virtual_time == gvt(); }

  // Spills and refills (task_unit_spill.cpp).
  bool can_spill() const;
  void start_spill();
  Cycle step_spill(CoreId core, Cycle now);
  Cycle store_spilled_lines(CoreId core, Cycle now);
  bool is_writing_batch() const { return spill_.batch != SpillArea::kNoBatch; }
  void borrow_stalled_core(Cycle now);
  bool has_room_for_earliest() const;
  /// The last entry too, unless the earliest may be creating what needs it.
  bool has_room_for_untimed() const { return queue_.has_room(!has_committed_waiting(), false); }
  bool precedes_idle(const Task& refill) const;
  bool has_idle_untimed() const {
    return queue_.idle(Lane::untimestamped) + queue_.idle(Lane::untimestamped_nonspec) != 0;
  }
  bool has_untimed_now() const;  ///< one that is idle and may run before all that comes later
  /// Spilled tasks without a timestamp wait for one, none of them is here, and the queue is full.
  bool lacks_entry_for_untimed() const;
  /// Null if there are no such spilled tasks or they are being read.
  Task* idle_untimed_refill() const {
    return untimed_refill_ != nullptr && untimed_refill_->state == TaskState::idle ? untimed_refill_
                                                                                   : nullptr;
  }
  bool may_refill(const Task& refill) const;
  bool may_read_next(const Task& refill) const;
  std::uint32_t being_refilled() const;
  bool may_start_refill(const Task& refill) const;
  void start_refill(Task* refill, std::uint32_t slot);
  Cycle step_refill(CoreId core, Cycle now);
  void park_refill(Refill& reading);
  void place_refill(Task* refill, bool entry_is_free, std::vector<LineAddr>& lines);
  void insert_refill(Task* refill);
  void settle_overflow(std::vector<LineAddr>& lines);
  void chain_untimed(std::uint32_t first, std::uint32_t last, std::vector<LineAddr>& lines);
  void update_refill(Task* refill);
  Task* make_refill(std::uint32_t batch);
  Cycle touch_lines(CoreId core, std::vector<LineAddr>& lines, std::size_t& touched, Cycle now);

  void account_commits(Cycle now) {
    commit_occupancy_.add(commit_queue_.size(), now - commit_occupancy_since_);
    commit_occupancy_since_ = now;
  }
  /// Before every change of the number of entries.
  void account_occupancy(Cycle now) {
    occupancy_.add(queue_.entries(), now - occupancy_since_);
    occupancy_since_ = now;
  }

  // What most events read stands first, see EventHandler::kFirstUsed; so it does in the queue.
  TaskContext& context_;
  std::vector<std::unique_ptr<TaskUnit>>& tiles_;
  TileId tile_;
  std::uint32_t first_core_, cores_;
  CoreStates states_;
  struct Started {
    Timestamp timestamp = kMaxVirtualTime.timestamp;
    std::uint32_t tasks = 0;
  } started_;                         // non-speculatively, of the last such timestamp
  bool is_holding_ = false;           // a MAYSPEC task may not run now, or nobody looked: the last evaluation
  bool is_spec_waiting_ = false;      // the last evaluation
  bool may_spec_start_ = false;       // all the same, since nothing else can proceed: until none is suspended
  bool is_stopped_ = false;           // a promotion is being served
  bool owes_quiet_ = false;           // and the arbiter's tile waits for this one
  bool is_refill_turn_ = true;        // to take the last entry
  std::uint32_t spill_threshold_;     // entries
  std::uint32_t max_refills_;         // refill tasks in the queue
  std::uint32_t without_worker_ = 0;  // cores whose tasks were suspended, and none has taken their place
  std::uint32_t suspended_count_ = 0, spare_workers_ = 0;
  std::uint32_t started_before_spec_ = 0;
  std::uint32_t guest_turns_ = 0;  // so many guests start before a spill that nobody waits for
  std::uint32_t dispatches_since_timed_ = 0, dispatches_since_untimed_ = 0;  // spilled tasks were read back
  std::uint32_t stalled_attempts_ = 0;  // speculative tasks stalled on a create
  std::uint32_t asks_ = 0;              // of cores, for work
  const Task* atomic_ = nullptr;        // of the suspended ones: no other may run
  Task* promoted_ = nullptr;            // granted, not yet dispatched
  Task* untimed_refill_ = nullptr;      // of all spilled tasks without one, idle or running
  Cycle reconsider_at_ = kNever;        // scheduled
  Cycle occupancy_since_{};
  Cycle commit_occupancy_since_{};
  // By slot: what precedes this timestamp precedes the task there. The last one where there is none, or it is
  // neither timestamped nor speculative and everything may precede it.
  std::array<Timestamp, kMaxCoresPerTile> yields_before_{};
  std::array<CoreSlot, kMaxCoresPerTile> slots_{};
  std::vector<Task*> refills_;  // idle ones with a timestamp, latest first
  std::deque<Waiting> waiting_;
  SendBuffer send_;
  CommitQueue commit_queue_;
  TaskQueue queue_;

  std::unique_ptr<SpeculationThrottle> throttle_;  // null: none
  SpillArea area_;
  std::array<Task*, kMaxSuspended> suspended_{};
  std::deque<std::uint32_t> resumable_;               // places in suspended_
  std::deque<std::uint32_t> send_waiting_;            // core slots
  std::uint32_t last_untimed_ = SpillArea::kNoBatch;  // of the chain of untimed_refill_
  Spill spill_;
  std::array<Refill, kMaxCoresPerTile> reading_;  // by core slot
  /// A SPEC task that non-speculative ones abort again and again may never end otherwise: they may be waiting
  /// for it, and look at what it writes. Alone among them it will.
  static constexpr std::uint32_t kMaxLost = 64;
  /// A SPEC task that runs alone waits until no other is suspended: so many still start before it.
  static constexpr std::uint32_t kMaxBeforeSpec = 256;
  static constexpr std::uint32_t kDispatchesPerRefill = 64;
  static constexpr std::uint32_t kDispatchesPerTimedRefill = 1024;  // more often it costs more than it gains
  VirtualTime own_gvt_{};                                           // of a chip without an arbiter
  std::deque<Task*> commit_sends_;   // held children of committed parents, for the send buffer
  std::vector<Task*> rolling_back_;  // tasks that will be idle again
  std::array<Patience, kNeeds> patience_;

  struct Stats {
    std::uint64_t created = 0, dispatched = 0, finished = 0, committed = 0, nonspeculative = 0, aborted = 0,
                  discarded = 0, excepted = 0, commit_stalls = 0, local = 0, remote = 0, refused = 0,
                  spilled = 0, refilled = 0, handlers_registered = 0, handlers_dropped = 0,
                  handlers_queued = 0, doomed_runs = 0, spills = 0, borrowed = 0, refills = 0,
                  queue_stalls = 0, send_stalls = 0, suspended = 0, waited = 0;
  } stats_;
  Histogram occupancy_, commit_occupancy_;
};

}  // namespace rubato::chip
