// Exceptions inside transactions (T23). Outside one these do what libstdc++ does.
// SPDX-License-Identifier: MIT
#include "tm/abi/types.hpp"
#include "tm/failure.hpp"
#include "tm/thread/thread.hpp"

namespace {

rubato::tm::Thread& current() {
  rubato::tm::Thread* thread = rubato_tm_current;
  if (thread == nullptr) thread = rubato_tm_register_thread();
  return *thread;
}
rubato::tm::Exceptions& exceptions() { return current().exceptions; }

}  // namespace

RUBATO_TM_EXPORT void* _ITM_cxa_allocate_exception(std::size_t bytes) {
  rubato::tm::Thread& thread = current();
  void* const object = thread.exceptions.allocate(bytes);
  thread.perhaps_own = {0, ~std::uintptr_t{0}};
  return object;
}
RUBATO_TM_EXPORT void _ITM_cxa_free_exception(void* object) { exceptions().free_unthrown(object); }
RUBATO_TM_EXPORT void _ITM_cxa_throw(void* object, void* type, void (*destructor)(void*)) {
  exceptions().throw_object(object, type, destructor);
}
RUBATO_TM_EXPORT void* _ITM_cxa_begin_catch(void* exception) { return exceptions().begin_catch(exception); }
RUBATO_TM_EXPORT void _ITM_cxa_end_catch() { exceptions().end_catch(); }

/// The unwinder's question at the frame that called operator new (x86_64.S), which throws without the
/// library: in its second phase the exception is on its way. It goes on in any case (Itanium C++ ABI, 1.6.1).
extern "C" [[gnu::visibility("hidden")]] int rubato_tm_note_exception(int, int actions, std::uint64_t,
                                                                      void* exception, void*) {
  constexpr int kCleanup = 2, kForced = 8, kContinue = 8;
  rubato::tm::Thread* const thread = rubato_tm_current;
  if ((actions & (kCleanup | kForced)) == kCleanup && thread != nullptr && thread->nesting != 0)
    thread->exceptions.leaving(exception);
  return kContinue;
}
