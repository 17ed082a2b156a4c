// The part of libstdc++ that the library has to know to undo exceptions (T23): what lies in front of an
// exception object, and the C++ ABI's state of a thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::tm {

/// The header of an exception, right before its object (Itanium C++ ABI, 2.2.1). Its last 32 bytes are the
/// unwinder's header, by whose address the unwinder and the compiler's calls name the exception.
struct CxaException {
  void* type;
  void (*destructor)(void*);
  void* unexpected;
  void* terminate;
  CxaException* next;  ///< caught before this one
  int handlers;        ///< that have caught it and are not over; negative while it is thrown again
  int switch_value;
  void* unwinding[4];
  // The unwinder's header.
  std::uint64_t language;
  void* cleanup;
  std::uint64_t unwinder[2];

  static CxaException* of(void* exception) {
    return reinterpret_cast<CxaException*>(static_cast<char*>(exception) - kName);
  }
  static CxaException* of_object(void* object) { return static_cast<CxaException*>(object) - 1; }
  void* name() { return reinterpret_cast<char*>(this) + kName; }
  void* object() { return this + 1; }

  /// Not another language's, of which the unwinder's header alone is there.
  bool is_cxx() const { return language >> 8 == kCxx; }
  /// Not one of std::rethrow_exception(), which refers to another one.
  bool is_primary() const { return language == kCxx << 8; }

  /// How many hold a primary one: the throw or the handlers, each std::exception_ptr, each that refers to it.
  int& references() { return *reinterpret_cast<int*>(reinterpret_cast<char*>(this) - 16); }

 private:
  static constexpr std::uint64_t kCxx = 0x47'4e'55'43'43'2b'2b;  // "GNUCC++"
  static constexpr std::uintptr_t kName = 80;
};
static_assert(sizeof(CxaException) == 112);

/// The state that __cxa_get_globals() returns.
struct CxaGlobals {
  CxaException* caught = nullptr;  ///< the innermost handler's exception
  unsigned int uncaught = 0;
};

}  // namespace rubato::tm
