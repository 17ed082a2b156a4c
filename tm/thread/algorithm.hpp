// Algorithm: a table of functions. The thread's descriptor points to the barriers. So a symbol of the ABI is
// a load of the descriptor, a load from the table, and a jump (T40). A new algorithm is a file that
// defines a class for barriers_of() and an Algorithm, and one line in algorithm_list.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tm/thread/algorithm_list.hpp"

namespace rubato::tm {

struct Thread;
struct Savepoint;

/// Compiler's knowledge of an access: RaR after a read, RaW after a write, RfW a write follows.
enum class Load : std::uint8_t { plain, after_read, after_write, for_write };
enum class Store : std::uint8_t { plain, after_read, after_write };
constexpr std::size_t kLoads = 4, kStores = 3;

struct Barriers {
  template <class T>
  using Loads = std::array<T (*)(const void*, Thread*), kLoads>;
  template <class T>
  using Stores = std::array<void (*)(void*, T, Thread*), kStores>;

  Loads<std::uint8_t> load1;
  Loads<std::uint16_t> load2;
  Loads<std::uint32_t> load4;
  Loads<std::uint64_t> load8;
  Stores<std::uint8_t> store1;
  Stores<std::uint16_t> store2;
  Stores<std::uint32_t> store4;
  Stores<std::uint64_t> store8;
  /// Any number of bytes: `to` of read and `from` of write are private.
  void (*read)(void* to, const void* from, std::size_t bytes, Load kind, Thread*);
  void (*write)(void* to, const void* from, std::size_t bytes, Store kind, Thread*);
  void (*fill)(void* to, int byte, std::size_t bytes, Store kind, Thread*);
  /// Keeps the old value of memory of this thread alone, which the program writes itself.
  void (*save)(const void* address, std::size_t bytes, Thread*);
};

/// Class B: load<kind, T>(p, thread), store<kind>(p, value, thread), read, write, fill, save, all static.
template <class B>
constexpr Barriers barriers_of() {
#define RUBATO_TM_LOAD_KINDS(T)                                                      \
  {                                                                                  \
    B::template load<Load::plain, T>, B::template load<Load::after_read, T>,         \
        B::template load<Load::after_write, T>, B::template load<Load::for_write, T> \
  }
#define RUBATO_TM_STORE_KINDS(T)                                                 \
  {                                                                              \
    B::template store<Store::plain, T>, B::template store<Store::after_read, T>, \
        B::template store<Store::after_write, T>                                 \
  }
  return {{RUBATO_TM_LOAD_KINDS(std::uint8_t)},
          {RUBATO_TM_LOAD_KINDS(std::uint16_t)},
          {RUBATO_TM_LOAD_KINDS(std::uint32_t)},
          {RUBATO_TM_LOAD_KINDS(std::uint64_t)},
          {RUBATO_TM_STORE_KINDS(std::uint8_t)},
          {RUBATO_TM_STORE_KINDS(std::uint16_t)},
          {RUBATO_TM_STORE_KINDS(std::uint32_t)},
          {RUBATO_TM_STORE_KINDS(std::uint64_t)},
          B::read,
          B::write,
          B::fill,
          B::save};
#undef RUBATO_TM_LOAD_KINDS
#undef RUBATO_TM_STORE_KINDS
}

/// For algorithms that write in place.
inline void keep_nothing(Thread&, std::size_t) {}

struct Algorithm {
  Barriers barriers;
  /// Inside the gate: takes the snapshot.
  void (*begin)(Thread&);
  /// False: the transaction read what is not valid any more, and has to be rolled back. True: its writes are
  /// visible.
  bool (*commit)(Thread&);
  /// Undoes memory down to the savepoint; without one, everything, and lets go of what is locked.
  void (*roll_back)(Thread&, const Savepoint*);
  /// With all others outside: validates, and makes memory such that plain accesses go on from here. False as
  /// commit().
  bool (*become_exclusive)(Thread&);
  /// Is all that was read as it was, also by transactions that have locked something before?
  bool (*is_valid)(Thread&);
  /// After the own slot is even: waits until no other transaction can touch what this one made private.
  void (*quiesce)(Thread&);
  /// With the gate closed, before its first transaction.
  bool (*prepare)();
  /// In the child of a fork, which has none of the threads that hold a lock.
  void (*reset_after_fork)();
  /// A nested transaction has become part of the outer one; `mark`: the write set when it began.
  void (*close_savepoint)(Thread&, std::size_t mark);
  bool keeps_stores() const { return close_savepoint != keep_nothing; }  ///< until commit
};

extern const Barriers kPlainBarriers;  ///< irrevocable: plain accesses
extern const Barriers kUndoBarriers;   ///< serial, and can be undone

#define RUBATO_TM_DECLARE(name, table) extern const Algorithm table;
RUBATO_TM_ALGORITHMS(RUBATO_TM_DECLARE)
#undef RUBATO_TM_DECLARE

#define RUBATO_TM_NAME(name, table) name,
/// The place of an algorithm in the regime.
enum class AlgorithmId : std::uint8_t { RUBATO_TM_ALGORITHMS(RUBATO_TM_NAME) };
#undef RUBATO_TM_NAME

#define RUBATO_TM_TEXT(name, table) #name,
constexpr const char* kAlgorithmNames[] = {RUBATO_TM_ALGORITHMS(RUBATO_TM_TEXT)};
#undef RUBATO_TM_TEXT
constexpr std::uint32_t kAlgorithmCount = sizeof kAlgorithmNames / sizeof *kAlgorithmNames;

const Algorithm* const* all_algorithms();
inline const Algorithm& algorithm(std::uint32_t id) { return *all_algorithms()[id]; }

}  // namespace rubato::tm
