// An actor as it lies in memory: two lines, then its behavior (A17, A24). The same on both engines, as far as
// programs' code is compiled against it. The engines decide which thread runs it, and when.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <typeinfo>

#include "rubato/annotations.hpp"
#include "rubato/engine/message_node.hpp"
#include "rubato/engine/resource_header.hpp"

namespace rubato::inline v0 {
struct Failure;
enum class Directive : std::uint8_t;
}  // namespace rubato::inline v0

namespace rubato::inline v0::engine {

struct Cell;
struct TaskCode;

/// Properties that all actors of one behavior share. Static, never freed.
struct BehaviorType {
  bool (*handle)(void* behavior,
                 MessageNode*);  ///< and destroys what it carries; false: none of its messages
  void (*destroy)(void* behavior);
  const std::type_info* type;
  const MessageType* const* messages;  ///< that it understands
  std::uint32_t message_count;
  std::uint32_t bytes;                                      ///< with its alignment up to 64
  Directive (*on_failure)(void* behavior, const Failure&);  ///< null: it does not supervise
  const TaskCode* turn;                                     ///< of its turns, where they are tasks
};

/// State that few actors need.
struct Extras;

/// The queue is that of native/pool/pool.hpp; the serial engine has its own.
struct Cell : ResourceHeader {
  // The field `waiting` of the header, so that senders touch one line: the generation, which a handle must
  // have to reach this actor, above flags.
  static constexpr unsigned kGenerationShift = 48;
  static constexpr std::uint64_t kGenerationMask = ~((std::uint64_t{1} << kGenerationShift) - 1);
  static constexpr std::uint64_t kAddressMask = ~kGenerationMask;
  static constexpr std::uint64_t kOneGeneration = std::uint64_t{1} << kGenerationShift;
  static constexpr std::uint64_t kHasBound = 1, kHasUrgentLane = 2;
  /// For the native engine: no actor has begun in this cell. The cell is free, or a thread outside constructs
  /// one.
  static constexpr std::uint64_t kIsUnborn = 4;
  /// How the actor of the generation before ended, until the next one begins in the cell; neither: it
  /// stopped.
  static constexpr std::uint64_t kWasKilled = 8, kHasFailed = 16;
  std::atomic<std::uint64_t>& life() { return waiting; }
  /// List of the actor's children (actors/children.hpp); 0: none. Only the owner uses it. The header's field
  /// is free for it, since no cell is removed like a resource.
  std::uint64_t& children() { return is_removed; }
  const std::uint64_t& children() const { return is_removed; }

  std::atomic<MessageNode*> tail_{nullptr};  // in what is left of the header's line
  // The owner's part: the thread that runs the turn.
  alignas(64) MessageNode* head_ = nullptr;
  MessageNode* last_taken_ = nullptr;
  const BehaviorType* type = nullptr;  ///< null: stopped
  void* behavior = nullptr;
  std::uint64_t self = 0;    ///< the handle
  std::uint64_t parent = 0;  ///< the actor that spawned it, or 0; kUnsupervised if it decides about nothing
  static constexpr std::uint64_t kUnsupervised = 1;
  Extras* extras = nullptr;
  std::uint16_t turn_messages = 0;
  /// Flags that a turn tests after each message.
  static constexpr std::uint8_t kStopping = 1, kUnstashed = 2, kWaiting = 4, kBounded = 8, kUrgent = 16,
                                kMuted = 32, kEnding = 64, kEnded = 128;
  std::uint8_t flags = 0;
  std::atomic<std::uint8_t> is_killed{0};  ///< the only one that others write
  Priority priority = Priority::normal;
  std::uint8_t to_clear = 0;      ///< the native engine's, after a failure
  std::uint16_t core = kAnyCore;  ///< or a worker's number
  static constexpr std::uint16_t kAnyCore = 0xffff, kOwnThread = 0xfffe;
};
static_assert(sizeof(Cell) == 128);

inline Cell* cell_of(std::uint64_t handle) { return reinterpret_cast<Cell*>(handle & Cell::kAddressMask); }
/// Whether the actor that the handle means still takes messages.
inline bool is_alive(std::uint64_t handle) {
  return handle != 0 &&
         ((cell_of(handle)->life().load(std::memory_order_acquire) ^ handle) & Cell::kGenerationMask) == 0;
}

}  // namespace rubato::inline v0::engine
