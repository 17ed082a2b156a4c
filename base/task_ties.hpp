// Ties between tasks: two tasks that touch one word, of which at least one writes, though nothing orders them
// and nothing keeps them apart. The result then depends on the schedule (task model, "What is not promised").
// Both the serial engine and the chip feed an instance with their tasks' actions.
//
// Two accesses are ordered by: different timestamps; the creation of a task by another, as far as the creator
// had come; synchronization, which is an atomic access to one word, a system call or the end of a TaskGroup's
// member; the turns of tasks that are kept apart; and all chains of these. Two tasks are kept apart by one
// locale, or if both are atomic.
//
// Actions are given in the order in which they took effect. Invariant: a tie that is reported is one. Not
// every tie is found: only the last writers and the last readers of a word are remembered, and a chain of
// more than kBudget steps counts as an order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rubato {

class TaskTies {
 public:
  using Id = std::uint64_t;        ///< of a task; 0: none
  using Position = std::uint32_t;  ///< in what a task does: 1, 2, 3; 0: before all of it
  using Worker = std::uint32_t;    ///< tasks of one worker share its thread-local data
  static constexpr Position kEnd = std::numeric_limits<Position>::max();
  static constexpr Worker kNoWorker = std::numeric_limits<Worker>::max();

  /// The properties of a task that decide its order and its exclusion.
  struct Task {
    std::optional<std::uint64_t> at{};
    std::optional<std::uint64_t> locale{};
    bool reads = false;      ///< runs beside other readers of its locale
    bool is_atomic = false;  ///< speculative: atomic with respect to all others that are
  };
  struct Tie {
    Id first = 0, second = 0;
    bool first_writes = false, second_writes = false;
    std::uint64_t address = 0;  ///< of the first byte that both touch
  };

  /// `parent` has created `id`, and had come to `position` then. @param parent 0, or a task that is not
  /// known: the task was there before the run.
  void create(Id id, const Task& task, Id parent, Position position);
  /// The task touches `bytes` bytes. @returns a tie with the access of another task, if there is one.
  /// Accesses to words that were once used to synchronize are synchronization. Nothing is known of a task
  /// that was not created. Pairs of one worker are no tie, unless it is kNoWorker.
  std::optional<Tie> access(Id id, Position position, std::uint64_t address, unsigned bytes, bool is_write,
                            Worker worker = kNoWorker);
  /// An access that orders, to each word of these bytes.
  void synchronize_words(Id id, Position position, std::uint64_t address, unsigned bytes);
  /// The task begins, or has ended. Tasks that are kept apart come one after another, so one may find through
  /// the other what a third has published.
  void turn(Id id, Position position);
  /// All earlier uses of `object` come before the task's actions from now on.
  void synchronize(Id id, Position position, std::uint64_t object);
  /// Everything that was done comes before everything that will be.
  void clear();

 private:
  static constexpr unsigned kBudget = 512, kReaders = 16;
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  struct Object {
    enum class Kind : std::uint8_t { word, locale, atomic_tasks, other } kind;
    std::uint64_t number;
    bool operator==(const Object&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Object& o) const {
      return std::hash<std::uint64_t>()(o.number * 4 + static_cast<std::uint64_t>(o.kind));
    }
  };
  struct Use {  ///< of an object, by one task
    Index task;
    Position first, last;
    Index before;  ///< the use of the same object before this; kNone: none
  };
  struct Node {
    Id id;
    Task task;
    Index parent;
    Position created_at;  ///< in the parent
    std::vector<Index> uses;
    // State of search():
    std::uint64_t search = 0;  ///< number of the last one that came here
    Position reached = 0;      ///< the highest position it came with
  };
  struct Touch {
    Index task;
    Worker worker;
    Position last;
    std::uint8_t mask;  ///< bytes of the word
    bool is_write;
  };

  std::optional<Tie> touch_word(Index me, Position position, std::uint64_t word, std::uint8_t mask,
                                bool is_write, Worker worker);
  static bool are_apart(const Task& a, const Task& b);
  /// Whether the actions of `a` up to `a_position` come before those of `b` from `b_position` on, or may: the
  /// search is bounded by a budget.
  bool precedes(Index a, Position a_position, Index b, Position b_position);
  bool search(Index a, Position a_position, Index b, Position b_position);
  /// `a` may have reached, by synchronization, a task whose timestamp is before another's.
  bool has_released(Index a, Position a_position) const;
  void visit(Index task, Position position);
  Index find(Id id) const;
  void use(Index me, Position position, const Object& object);

  std::vector<Node> nodes_;
  std::unordered_map<Id, Index> index_;
  std::vector<Use> uses_;
  std::unordered_map<Object, Index, Hash> objects_;  // the last use
  std::unordered_map<std::uint64_t, std::vector<Touch>> words_;
  // Precedence found so far. Key: both tasks; value: the position of the first up to which it precedes the
  // second. Looked up only.
  std::unordered_map<std::uint64_t, Position> known_;
  std::uint64_t search_ = 0;
  std::vector<std::pair<Index, Position>> open_;
};

}  // namespace rubato
