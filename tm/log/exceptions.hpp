// Exceptions that a transaction allocated, threw or caught, and what is left to clean up when it is undone
// (T23). Invariant: each exception that began in an open transaction is in one list, wherever it is: being
// made, in flight, caught, or ended. Memory of one that can still be undone stays, because logs may hold its
// values: a handler that ends it leaves a reference to the commit. The entry points of libstdc++ are weak: C
// programs have none of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tm/log/buffer.hpp"
#include "tm/log/cxa_exception.hpp"

namespace rubato::tm {

class Exceptions {
 public:
  Exceptions() = default;
  Exceptions(const Exceptions&) = delete;
  Exceptions& operator=(const Exceptions&) = delete;

  /// For the calling thread, before its first transaction.
  void attach_to_thread();

  /// The state of exceptions that a savepoint keeps.
  struct Mark {
    std::size_t objects = 0;
    CxaGlobals globals;
    int handlers = 0;  ///< of the innermost caught exception, which may be thrown again
  };

  Mark mark() const {
    Mark mark{objects_.size(), *globals_};
    if (__builtin_expect(mark.globals.caught != nullptr, false) && mark.globals.caught->is_cxx())
      mark.handlers = mark.globals.caught->handlers;
    return mark;
  }
  void start_outermost() { outermost_ = mark(); }

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
  /// Takes over an exception that was thrown without the library, by operator new for example, and that
  /// passes, is caught, or leaves the transaction. One of a handler around the transaction is not taken.
  void note(void* exception);

  /// The exception of the transaction that ends with the innermost handler, or null.
  CxaException* ending();
  /// Ends the innermost handler, but leaves a reference to ending(), which a rollback drops, or release().
  void end_catch_keeping(CxaException* exception);
  /// After the commit: the end of what end_catch_keeping() has kept.
  static void release(void* exception);

  void roll_back_to(const Mark& mark);
  void roll_back() { roll_back_to(outermost_); }
  /// There is none that a commit has to clean up.
  bool is_clean() const { return objects_.empty(); }
  void commit() {
    if (__builtin_expect(!is_clean(), false)) end();
  }

 private:
  enum class State : std::uint8_t {
    unthrown,
    freed,    ///< its constructor threw
    thrown,   ///< in flight, caught, or kept at the end of its last handler
    foreign,  ///< made without the library
    over
  };
  struct Object {
    void* exception;
    std::size_t bytes;  ///< of a foreign one unknown, 0
    State state;
  };

  bool is_in_object(const void* p, std::size_t first_object);
  Object* find(const void* exception);
  bool is_caught(const void* exception) const;
  void end();
  static void take_back(const Object& entry);

  CxaGlobals none_;  ///< in a program without libstdc++
  CxaGlobals* globals_ = &none_;
  Buffer<Object> objects_;
  Mark outermost_;
};

}  // namespace rubato::tm
