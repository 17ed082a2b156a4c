// SPDX-License-Identifier: MIT
#include "actors/lifecycle.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/bounds.hpp"
#include "actors/children.hpp"
#include "actors/timers.hpp"
#include "base/function_names.hpp"
#include "rubato/actor/actor.hpp"
#include "rubato/actor/probe.hpp"
#include "rubato/actor/spawn.hpp"

namespace rubato::inline v0::engine {

bool handle_own(MessageNode* node) {
  struct Destroyed {
    MessageNode* node;
    ~Destroyed() { destroy_payload(node); }
  } const destroyed{node};
  return node->type->run != nullptr && node->type->run(node);
}

void throw_misuse(const char* sentence) { misuse(sentence); }
std::string name_of_type(const std::type_info& type) { return function_name(nullptr, type); }

Extras& extras_of(Cell& cell) {
  if (cell.extras == nullptr) cell.extras = new Extras;
  return *cell.extras;
}

std::string describe(const Cell& cell) {
  const std::string behavior = function_name(nullptr, *cell.type->type);
  if (cell.extras == nullptr || cell.extras->name.empty()) return "actor " + behavior;
  return "actor " + cell.extras->name + " (" + behavior + ")";
}

void begin_cell(Cell& cell, const BehaviorType& type, const CellOptions& options, void* behavior,
                std::uint64_t state) {
  cell.type = &type;
  cell.behavior = behavior;
  cell.self = reinterpret_cast<std::uint64_t>(&cell) |
              (cell.life().load(std::memory_order_relaxed) & Cell::kGenerationMask);
  cell.extras = nullptr;
  cell.children() = 0;
  cell.turn_messages = options.turn_messages == 0 ? 50 : options.turn_messages;
  cell.flags = static_cast<std::uint8_t>((options.mailbox.capacity != 0 ? Cell::kBounded : 0) |
                                         (options.urgent ? Cell::kUrgent : 0));
  const std::uint64_t generation = cell.self & Cell::kGenerationMask;
  cell.life().store(generation | state | (options.mailbox.capacity != 0 ? Cell::kHasBound : 0) |
                        (options.urgent ? Cell::kHasUrgentLane : 0),
                    std::memory_order_release);
  cell.is_killed.store(0, std::memory_order_relaxed);
  cell.priority = options.priority;
  cell.core = options.core;
  if (options.mailbox.capacity != 0) set_bound(cell, options.mailbox);
  if (options.urgent) static_cast<void>(extras_of(cell));
  const std::uint64_t parent = current_actor();
  cell.parent = 0;
  if (!is_alive(parent)) return;  // its destructor runs
  add_child(*cell_of(parent), cell.self);
  cell.parent = parent | (cell_of(parent)->type->on_failure == nullptr ? Cell::kUnsupervised : 0);
}

void end_actor(Cell& cell, Reason reason) {
  const ActorScope scope(cell.self);
  const BehaviorType& type = *cell.type;
  // First no handle reaches it: what its destructor sends to itself is a dead letter.
  const std::uint64_t how = reason == Reason::killed   ? Cell::kWasKilled
                            : reason == Reason::failed ? Cell::kHasFailed
                                                       : 0;
  cell.life().fetch_add(Cell::kOneGeneration | how, std::memory_order_seq_cst);
  type.destroy(cell.behavior);
  cell.type = nullptr;
  cancel_timers_of(cell, true);
  const bool is_bounded = (cell.flags & Cell::kBounded) != 0;
  cell.flags = 0;
  if (is_bounded) release_muted(*bounded_of(cell));
  forget_children(cell);
  Extras* const extras = cell.extras;
  if (extras == nullptr) return child_ended(cell);
  const std::unique_ptr<Extras> owned(extras);
  for (NodeList* list : {&extras->unstashed, &extras->stash}) {
    while (!list->is_empty()) {
      MessageNode* const node = list->take();
      note_stashed(-1);
      dead_letter(cell.self, node,
                  reason == Reason::killed ? DeadLetter::Cause::killed : DeadLetter::Cause::stopped);
      free_node(node);
    }
  }
  if (!extras->name.empty()) forget_name(extras->name);
  for (const std::uint64_t watcher : extras->watchers)
    post(watcher, make_node<Down>(Down{actor<>::of(cell.self), reason}));
  if (extras->group != nullptr) leave_group(*extras->group);
  child_ended(cell);
  cell.extras = nullptr;
}

Reason end_of(std::uint64_t actor) {
  const std::uint64_t life = cell_of(actor)->life().load(std::memory_order_acquire);
  if ((((life - Cell::kOneGeneration) ^ actor) & Cell::kGenerationMask) != 0) return Reason::stopped;
  if ((life & Cell::kWasKilled) != 0) return Reason::killed;
  return (life & Cell::kHasFailed) != 0 ? Reason::failed : Reason::stopped;
}

void check_urgent(std::uint64_t to) {
  if (is_alive(to) && (cell_of(to)->life().load(std::memory_order_relaxed) & Cell::kHasUrgentLane) == 0)
    misuse("a message of high priority was sent to an actor that was not spawned with .urgent");
}

unsigned reserve(std::uint64_t to, bool& is_reserved) {
  Place place = Place::not_counted;
  const bool is_there = with_living(to, [&place](Cell& cell) { place = take_place(cell); });
  // Counted at once: messages that are on their way, and those of other senders, find the place taken.
  is_reserved = place == Place::taken;
  const Sent sent = !is_there ? Sent::stopped : place == Place::full ? Sent::full : Sent::accepted;
  return static_cast<unsigned>(sent);
}
void give_back_place(std::uint64_t to) { with_living(to, give_back); }

void post_or_throw(std::uint64_t to, MessageNode* node, Duration patience) {
  if (post_within(to, node, patience)) return;
  destroy_payload(node);
  free_node(node);
  misuse("a message of a thread outside found no room in a full mailbox within " +
         std::to_string(patience.count()) + " ns, and was not sent");
}

namespace {

/// For the names in traces: a turn of an actor that has ended, which drops messages.
struct EndedActor {};
constexpr BehaviorType kNoBehavior{[](void*, MessageNode*) { return false; },
                                   [](void*) {},
                                   &typeid(void),
                                   nullptr,
                                   0,
                                   0,
                                   nullptr,
                                   turn_of<EndedActor>};

}  // namespace

const BehaviorType& no_behavior() { return kNoBehavior; }
void forget_behavior(Cell& cell) {
  cell.type = &no_behavior();
  cell.flags |= Cell::kStopping;
  if (cell.extras != nullptr && !cell.extras->name.empty())
    forget_name(std::exchange(cell.extras->name, std::string()));
}

void drop_of_failed_run(std::uint64_t to, MessageNode* node) {
  if (node->type == &message_type<StopMessage> && is_alive(to)) cell_of(to)->flags |= Cell::kStopping;
  dead_letter(to, node, DeadLetter::Cause::run_failed);
}
void clear_flags_of_failed_run(Cell& cell) {
  const bool waits_for_restart = cell.extras != nullptr && cell.extras->waits_for_restart;
  cell.flags &= static_cast<std::uint8_t>(
      ~(Cell::kUnstashed | Cell::kMuted | Cell::kEnding | (waits_for_restart ? 0 : Cell::kWaiting)));
}

CellOptions cell_options(const Spawn& options) {
  CellOptions result;
  if (options.core) {
    result.core = static_cast<std::uint16_t>(*options.core % core_limit());
  }
  if (options.thread == ActorThread::own) {
    if (options.core)
      misuse("spawn() was asked for a worker (.core) and for a thread of the actor's own (.thread)");
    result.core = Cell::kOwnThread;
  }
  result.priority = options.priority;
  result.urgent = options.urgent;
  result.mailbox = options.mailbox;
  result.turn_messages = static_cast<std::uint16_t>(std::min(options.turn_messages, 0xffffu));
  return result;
}
bool has_extras(const Spawn& options) {
  return !options.name.empty() || options.group != nullptr || options.restarts != Restarts{} ||
         options.lag != Lag::as_configured || options.thread == ActorThread::own;
}
void prepare_extras(Cell& cell, const Spawn& options) {
  Extras& extras = extras_of(cell);
  if (!options.name.empty()) {
    take_name(std::string(options.name), cell);
    extras.name = options.name;
  }
  extras.limits = options.restarts;
  extras.has_own_thread = options.thread == ActorThread::own;
  extras.may_lag = options.lag == Lag::as_configured && !extras.has_own_thread;
  if (options.group != nullptr) {
    join_group(*options.group);
    extras.group = options.group;
  }
}

}  // namespace rubato::inline v0::engine
