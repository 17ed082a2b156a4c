// Exceptions that a transaction allocated, threw or caught, and what is left to clean up when it is undone
// (T23). The entry points of libstdc++ are weak: C programs have none of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tm/log/buffer.hpp"
#include "tm/log/undo_log.hpp"

namespace rubato::tm {

/// The C++ ABI's state of a thread.
struct CxaGlobals {
  void* caught_exceptions;
  unsigned int uncaught_exceptions;
};

class Exceptions {
 public:
  /// For the calling thread, before its first transaction.
  void attach_to_thread();

  /// The state of exceptions that a savepoint keeps.
  struct Mark {
    std::size_t objects = 0;
    std::uint32_t caught = 0;
    std::uint32_t uncaught = 0;
    void* in_flight = nullptr;
  };

  Mark mark() const;
  void start_outermost() { outermost_uncaught_ = uncaught_count(); }

  /// Does `p` lie in an exception that was allocated with number `first_object` or later?
  bool holds(const void* p, std::size_t first_object) {
    if (__builtin_expect(objects_.empty(), true)) return false;
    return is_in_object(p, first_object);
  }
  void* allocate(std::size_t bytes);
  void free_unthrown(void* object);
  [[noreturn]] void throw_object(void* object, void* type, void (*destructor)(void*));
  void* begin_catch(void* exception);
  void end_catch();
  /// An exception is on its way: that leaves the transaction, until it has committed, or that operator new
  /// threw.
  void leaving(void* exception) { in_flight_ = exception; }

  /// Memory of exceptions that end with a rollback to `mark`: it is not restored.
  const Range* gone(const Mark& mark) { return objects_.begin() == nullptr ? nullptr : ranges(mark); }
  std::size_t gone_count(const Mark& mark) const { return objects_.size() - mark.objects; }
  void roll_back_to(const Mark& mark);
  void roll_back() { roll_back_to({0, 0, outermost_uncaught_, nullptr}); }
  /// There is none that a commit has to clean up.
  bool is_clean() const { return objects_.empty() && caught_ == 0 && in_flight_ == nullptr; }
  void commit() {
    if (__builtin_expect(!is_clean(), false)) end();
  }

 private:
  enum class State : std::uint8_t { unthrown, thrown, freed };
  struct Object {
    void* object;
    std::size_t bytes;
    State state;
  };

  bool is_in_object(const void* p, std::size_t first_object);
  void clean_up(const Mark& mark);
  void end();
  void forget();
  const Range* ranges(const Mark& mark);
  std::uint32_t uncaught_count() const { return globals_ != nullptr ? globals_->uncaught_exceptions : 0; }
  void set_uncaught_count(std::uint32_t count);
  void free_object(void* object);

  CxaGlobals* globals_ = nullptr;  ///< of the thread; null in a program without libstdc++
  Buffer<Object> objects_;
  Buffer<Range> ranges_;
  std::uint32_t caught_ = 0;
  std::uint32_t outermost_uncaught_ = 0;
  void* in_flight_ = nullptr;
};

}  // namespace rubato::tm
