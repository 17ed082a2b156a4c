// Exceptions inside transactions (T23). Outside one these do what libstdc++ does.
// SPDX-License-Identifier: MIT
#include "tm/abi/clone_index.hpp"
#include "tm/abi/types.hpp"
#include "tm/failure.hpp"
#include "tm/thread/transaction.hpp"

// The destructors of the standard exceptions, which touch nothing but the object and its own text.
#define RUBATO_TM_STANDARD_EXCEPTIONS(X) \
  X(_ZNSt9exceptionD1Ev)                 \
  X(_ZNSt13bad_exceptionD1Ev)            \
  X(_ZNSt9bad_allocD1Ev)                 \
  X(_ZNSt20bad_array_new_lengthD1Ev)     \
  X(_ZNSt8bad_castD1Ev)                  \
  X(_ZNSt10bad_typeidD1Ev)               \
  X(_ZNSt11logic_errorD1Ev)              \
  X(_ZNSt12domain_errorD1Ev)             \
  X(_ZNSt16invalid_argumentD1Ev)         \
  X(_ZNSt12length_errorD1Ev)             \
  X(_ZNSt12out_of_rangeD1Ev)             \
  X(_ZNSt13runtime_errorD1Ev)            \
  X(_ZNSt11range_errorD1Ev)              \
  X(_ZNSt14overflow_errorD1Ev)           \
  X(_ZNSt15underflow_errorD1Ev)
#define RUBATO_TM_DECLARE(name) [[gnu::weak]] void name(void*);
extern "C" {
RUBATO_TM_STANDARD_EXCEPTIONS(RUBATO_TM_DECLARE)
}
#undef RUBATO_TM_DECLARE

namespace {

using Destructor = void (*)(void*);

rubato::tm::Thread& current() {
  rubato::tm::Thread* thread = rubato_tm_current;
  if (thread == nullptr) thread = rubato_tm_register_thread();
  return *thread;
}
rubato::tm::Exceptions& exceptions() { return current().exceptions; }

bool is_standard(Destructor destructor) {
#define RUBATO_TM_COMPARE(name) \
  if (destructor == name) return true;
  RUBATO_TM_STANDARD_EXCEPTIONS(RUBATO_TM_COMPARE)
#undef RUBATO_TM_COMPARE
  return false;
}

/// The last handler of an exception that the transaction threw is over, and its destructor is due. One that
/// is transaction_safe runs here, as a part of the transaction. Another one needs that nothing can be undone,
/// as all unsafe functions do; a transaction that the program may cancel leaves it to the commit.
void end_exception(rubato::tm::Thread& thread, rubato::tm::CxaException& exception) {
  const bool is_shared = exception.references() != 1;  // by a std::exception_ptr, which outlives the handler
  const Destructor destructor = is_shared ? nullptr : exception.destructor;
  const auto clone =
      destructor != nullptr
          ? reinterpret_cast<Destructor>(rubato::tm::find_clone(reinterpret_cast<const void*>(destructor)))
          : nullptr;
  if (destructor != nullptr && clone == nullptr && !is_standard(destructor) &&
      !rubato::tm::can_cancel(thread))
    rubato::tm::become_irrevocable(thread, reinterpret_cast<const void*>(destructor));
  if (!rubato::tm::can_be_undone(thread) || rubato::tm::has_fault(rubato::tm::Fault::exception_ends_early))
    return thread.exceptions.end_catch();
  thread.commit_actions.push({rubato::tm::Exceptions::release, exception.name()});
  thread.has_tail = true;
  thread.exceptions.end_catch_keeping(&exception);
  if (clone == nullptr) return;
  exception.destructor = nullptr;
  clone(exception.object());
}

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
RUBATO_TM_EXPORT void _ITM_cxa_end_catch() {
  rubato::tm::Thread& thread = current();
  rubato::tm::CxaException* const exception = thread.exceptions.ending();
  if (exception == nullptr || thread.nesting == 0) return thread.exceptions.end_catch();
  end_exception(thread, *exception);
}

/// The unwinder's question at the frame that called operator new (x86_64.S), which throws without the
/// library: in its second phase the exception is on its way. It goes on in any case (Itanium C++ ABI, 1.6.1).
extern "C" [[gnu::visibility("hidden")]] int rubato_tm_note_exception(int, int actions, std::uint64_t,
                                                                      void* exception, void*) {
  constexpr int kCleanup = 2, kForced = 8, kContinue = 8;
  rubato::tm::Thread* const thread = rubato_tm_current;
  if ((actions & (kCleanup | kForced)) == kCleanup && thread != nullptr && thread->nesting != 0)
    thread->exceptions.note(exception);
  return kContinue;
}
