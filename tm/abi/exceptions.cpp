// Exceptions inside transactions (T23). Outside one these do what libstdc++ does.
// SPDX-License-Identifier: MIT
#include "tm/abi/types.hpp"
#include "tm/failure.hpp"
#include "tm/thread/thread.hpp"

namespace {

rubato::tm::Exceptions& exceptions() {
  rubato::tm::Thread* thread = rubato_tm_current;
  if (thread == nullptr) thread = rubato_tm_register_thread();
  return thread->exceptions;
}

}  // namespace

RUBATO_TM_EXPORT void* _ITM_cxa_allocate_exception(std::size_t bytes) { return exceptions().allocate(bytes); }
RUBATO_TM_EXPORT void _ITM_cxa_free_exception(void* object) { exceptions().free_unthrown(object); }
RUBATO_TM_EXPORT void _ITM_cxa_throw(void* object, void* type, void (*destructor)(void*)) {
  exceptions().throw_object(object, type, destructor);
}
RUBATO_TM_EXPORT void* _ITM_cxa_begin_catch(void* exception) { return exceptions().begin_catch(exception); }
RUBATO_TM_EXPORT void _ITM_cxa_end_catch() { exceptions().end_catch(); }
