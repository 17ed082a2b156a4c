// A thread's descriptor: all that belongs to its transaction. Never unmapped; reused when its thread has
// ended.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tm/log/actions.hpp"
#include "tm/log/allocations.hpp"
#include "tm/log/buffer.hpp"
#include "tm/log/exceptions.hpp"
#include "tm/log/undo_log.hpp"
#include "tm/log/write_set.hpp"
#include "tm/thread/algorithm.hpp"
#include "tm/thread/atomics.hpp"
#include "tm/thread/checkpoint.hpp"
#include "tm/thread/elision.hpp"
#include "tm/thread/gate.hpp"
#include "tm/thread/limbo.hpp"
#include "tm/thread/line.hpp"
#include "tm/thread/losses.hpp"
#include "tm/thread/savepoint.hpp"
#include "tm/thread/watch.hpp"

namespace rubato::tm {

/// How the current attempt runs.
enum class Mode : std::uint8_t {
  outside,
  concurrent,       ///< inside the gate, by an algorithm
  serial_undoable,  ///< holds the serial lock, keeps an undo log
  irrevocable,      ///< holds the serial lock, plain accesses
  hardware,         ///< plain accesses, in a hardware transaction
};

/// Why an attempt ended, or why it runs serially.
enum class Cause : std::uint8_t {
  conflict_load,
  conflict_store,
  invalid_load,
  invalid_commit,
  retry,
  mode_change,
  memory,
  nested  ///< a part of an attempt, which goes on
};

/// Why a transaction ran alone.
enum class Serialization : std::uint8_t {
  start,      ///< declared, or without instrumented code
  in_flight,  ///< it met what cannot be undone
  aborts,     ///< it lost too many conflicts
  memory,     ///< its logs could not grow
  chosen      ///< by the algorithm
};
constexpr std::size_t kSerializations = 4;  ///< that are counted without a profile

/// Additional work of begin, in bits.
struct Start {
  static constexpr std::uint8_t kSerial = 1, kProfiled = 2,
                                kKeepsUndo = 4;  ///< also where nothing can abort (Options::undo_always)
};

/// Upkeep is done at every 1,024th commit.
constexpr std::uint64_t kUpkeepMask = 1023;

class Profile;

/// A record locked by eager or lazy, and what it was before.
struct LockedRecord {
  std::atomic<std::uint64_t>* record;
  std::uint64_t before;
};
struct ReadRecord {
  const std::atomic<std::uint64_t>* record;
  std::uint64_t seen;
};

/// A value that was read: the bytes (1 to 7, or 0 for 8) in the address's highest bits, which user addresses
/// leave free.
class ValueRead {
 public:
  ValueRead() = default;
  ValueRead(const void* p, unsigned bytes, std::uint64_t what)
      : value(what), place_(reinterpret_cast<std::uintptr_t>(p) | std::uint64_t{bytes % 8} << kShift) {}
  const void* address() const {
    return reinterpret_cast<const void*>(place_ & ((std::uint64_t{1} << kShift) - 1));
  }
  bool is_word() const { return place_ >> kShift == 0; }
  unsigned bytes() const { return is_word() ? 8 : static_cast<unsigned>(place_ >> kShift); }
  std::uint64_t value;

 private:
  static constexpr unsigned kShift = 60;
  std::uint64_t place_;
};

struct Thread {
  const Barriers* barriers = &kPlainBarriers;  ///< outside of transactions, too
  Checkpoint* next_checkpoint = nullptr;       ///< x86_64.S: where begin saves, always with room for one
  // -- up to here the layout is known to assembly
  Line<Atomics> line;

  // Members that short transactions write, in one cache line.
  std::uint32_t nesting = 0;  ///< open transactions, flat ones included
  std::uint32_t properties = 0;
  std::uint64_t id = 0;
  Mode mode = Mode::outside;
  bool has_closed_gate = false;
  std::uint8_t start = 0;  ///< bits of Start, for the next attempt
  bool holds_hourglass = false;
  bool has_tail = false;  ///< there may be actions or allocations, which the commit has to see to
  std::uint32_t aborts_in_a_row = 0;
  std::atomic<std::uint64_t> committed{0};  ///< as the counters below
  std::uint64_t upkeep_mask = kUpkeepMask;
  Checkpoint* checkpoints = nullptr;
  const Algorithm* algorithm = nullptr;
  HardwareHistory hardware;

  const Algorithm* const* algorithms = all_algorithms();  ///< by AlgorithmId; with a profile others
  Buffer<Savepoint> savepoints;
  std::size_t checkpoint_room = 0;

  UndoLog undo;
  Buffer<ReadRecord> reads;
  Buffer<LockedRecord> locked;
  Buffer<ValueRead> values;    ///< reads of norec and tml
  WriteSet writes;             ///< stores that lazy and norec keep until commit
  std::uint64_t snapshot = 0;  ///< of the current attempt; odd while it holds the sequence
  /// tml, norec: [first, first + bytes) may be memory of this transaction alone: the usual place of its
  /// functions' frames; with an exception of its own, all.
  struct {
    std::uintptr_t first = 0, bytes = 0;
  } perhaps_own;
  std::uintptr_t stack_first = 0, stack_last = 0;  ///< the thread's own stack; 0: not asked for yet
  std::uintptr_t stack_end = 0;  ///< of the stack that the transaction began on, for lazy and norec
  bool has_locked_stack =
      false;  ///< lazy, norec: it has written its own stack in place, under a lock; tml: memory
  bool holds_sequence = false;  ///< norec's lock for that, and tml's: others that are inside may wait for it
  std::uint64_t commit_time = 0;  ///< others with an older snapshot are waited for; 0: no others
  std::uint64_t era = 0;          ///< of commit_time, where it is needed after the commit
  bool was_read_only = false;
  /// The transaction, by its number in `committed`, that makes nothing private (T38).
  std::uint64_t makes_nothing_private = 0;
  Limbo limbo;

  Allocations allocations;
  Buffer<Action> commit_actions, undo_actions;
  Exceptions exceptions;

  // Written by this thread only, read by statistics (T60).
  std::atomic<std::uint64_t> aborted{0};
  std::atomic<std::uint64_t> serialized[kSerializations]{};
  std::atomic<std::uint64_t> hardware_aborts[kHardwareAborts]{}, without_hardware{0};
  std::uint64_t looked_at = 0;            ///< adapt(): when this thread did so last
  std::uint64_t committed_at_window = 0;  ///< adapt(): `committed` at the window's beginning
  Profile* profile = nullptr;             ///< null unless profiling is on
  std::uintptr_t conflict_address = 0;
  const Thread* conflict_with = nullptr;  ///< for the restart that is about to happen
  std::uint64_t loads = 0, stores = 0;    ///< of the attempt, with profiling on
  Losses<Atomics> losses;
  Watch<Atomics> watch;  ///< while it sleeps for a condition (T56)

  std::uint64_t random = 0;
  std::atomic<std::uint32_t> reads_clones{0};  ///< inside a look-up of the clone index (T15)
  Thread* next = nullptr;                      ///< of the registry's list of all
  bool is_free = false;                        ///< under the registry's lock

  bool starts_serial() const { return (start & Start::kSerial) != 0; }
  void start_serial() { start |= Start::kSerial; }
  void start_as_usual() { start &= static_cast<std::uint8_t>(~Start::kSerial); }
  bool is_undoable() const { return mode == Mode::concurrent || mode == Mode::serial_undoable; }
  bool has_open_savepoint() const { return !savepoints.empty(); }
};

/// Adds one to a counter that a single thread writes.
inline void add_one(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// State that all threads share.
struct Shared {
  Lines<Atomics> lines;
  Gate<Atomics> gate{lines};
  Watches<Atomics> watches;
  /// The era of commit times by records (T46): changes while no thread is inside.
  std::atomic<std::uint64_t> era{0};
};
[[gnu::visibility("hidden")]] extern Shared shared;
/// The number of threads that have run a transaction and have not ended.
extern std::atomic<std::uint32_t> registered_threads;

/// Calls f(thread) for every descriptor, those of ended threads included. Without a lock.
template <class F>
void for_each_thread(F f);

}  // namespace rubato::tm

extern "C" {
/// The calling thread's descriptor; null before its first transaction.
extern __thread rubato::tm::Thread* rubato_tm_current
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
/// Gives the calling thread a descriptor.
rubato::tm::Thread* rubato_tm_register_thread() __attribute__((visibility("hidden")));
}

namespace rubato::tm {

extern std::atomic<Thread*> all_threads;

template <class F>
void for_each_thread(F f) {
  for (Thread* thread = all_threads.load(std::memory_order_acquire); thread != nullptr; thread = thread->next)
    f(*thread);
}

}  // namespace rubato::tm
