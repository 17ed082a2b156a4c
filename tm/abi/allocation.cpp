// Allocation inside transactions: malloc, calloc, free and ten forms of new and delete (T25). Outside a
// transaction they do what they are called.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <new>

#include "tm/abi/types.hpp"
#include "tm/failure.hpp"
#include "tm/fault.hpp"
#include "tm/thread/thread.hpp"

extern "C" {
// Weak: a C program has none of them. By their mangled names, so that no declaration says that they are
// there.
[[gnu::weak]] void* _Znwm(std::size_t);
[[gnu::weak]] void* _Znam(std::size_t);
[[gnu::weak]] void* _ZnwmRKSt9nothrow_t(std::size_t, const void*);
[[gnu::weak]] void* _ZnamRKSt9nothrow_t(std::size_t, const void*);
[[gnu::weak]] void _ZdlPv(void*);
[[gnu::weak]] void _ZdaPv(void*);
[[gnu::weak]] void _ZdlPvRKSt9nothrow_t(void*, const void*);
[[gnu::weak]] void _ZdaPvRKSt9nothrow_t(void*, const void*);
[[gnu::weak]] void _ZdlPvm(void*, std::size_t);
[[gnu::weak]] void _ZdlPvmRKSt9nothrow_t(void*, std::size_t, const void*);
/// Calls a form of new, with rubato_tm_note_exception() as the personality of its frame (x86_64.S).
[[gnu::visibility("hidden")]] void* rubato_tm_call_new(std::size_t bytes, void* (*function)(std::size_t));
}

namespace rubato::tm {
namespace {

const char kNothrow = 0;  // stands for std::nothrow; no callee reads its address

template <class F>
F require(F function, const char* name) {
  if (function == nullptr) fatal("a transaction calls %s in a program without libstdc++", name);
  return function;
}

bool in_transaction() { return rubato_tm_current != nullptr && rubato_tm_current->nesting != 0; }

template <class F>
void* allocate(F call, Release how) {
  if (!in_transaction()) return call();
  Thread& thread = *rubato_tm_current;
  thread.allocations.reserve();
  thread.has_tail = true;
  void* const pointer = call();
  if (pointer != nullptr) thread.allocations.allocated(pointer, how);
  return pointer;
}

void release(void* pointer, Release how, std::size_t bytes = 0) {
  if (pointer == nullptr) return;
  if (in_transaction() && !has_fault(Fault::frees_at_once)) {
    rubato_tm_current->allocations.freed(pointer, how, bytes);
    rubato_tm_current->has_tail = true;
  } else {
    release_memory(pointer, how, bytes);
  }
}

}  // namespace

void release_memory(void* pointer, Release how, std::size_t bytes) {
  switch (how) {
    case Release::free_:
      std::free(pointer);
      return;
    case Release::delete_:
      require(_ZdlPv, "operator delete")(pointer);
      return;
    case Release::delete_nothrow:
      require(_ZdlPvRKSt9nothrow_t, "operator delete")(pointer, &kNothrow);
      return;
    case Release::delete_sized:
      require(_ZdlPvm, "operator delete")(pointer, bytes);
      return;
    case Release::delete_sized_nothrow:
      require(_ZdlPvmRKSt9nothrow_t, "operator delete")(pointer, bytes, &kNothrow);
      return;
    case Release::delete_array:
      require(_ZdaPv, "operator delete[]")(pointer);
      return;
    case Release::delete_array_nothrow:
      require(_ZdaPvRKSt9nothrow_t, "operator delete[]")(pointer, &kNothrow);
      return;
  }
}

}  // namespace rubato::tm

using rubato::tm::allocate;
using rubato::tm::release;
using rubato::tm::Release;
using rubato::tm::require;

RUBATO_TM_EXPORT void* _ITM_malloc(std::size_t bytes) {
  return allocate([bytes] { return std::malloc(bytes); }, Release::free_);
}
RUBATO_TM_EXPORT void* _ITM_calloc(std::size_t count, std::size_t bytes) {
  return allocate([count, bytes] { return std::calloc(count, bytes); }, Release::free_);
}
RUBATO_TM_EXPORT void _ITM_free(void* pointer) { release(pointer, Release::free_); }

RUBATO_TM_EXPORT void* _ZGTtnwm(std::size_t bytes) {
  return allocate([bytes] { return rubato_tm_call_new(bytes, require(_Znwm, "operator new")); },
                  Release::delete_);
}
RUBATO_TM_EXPORT void* _ZGTtnam(std::size_t bytes) {
  return allocate([bytes] { return rubato_tm_call_new(bytes, require(_Znam, "operator new[]")); },
                  Release::delete_array);
}
RUBATO_TM_EXPORT void* _ZGTtnwmRKSt9nothrow_t(std::size_t bytes, const void* nothrow) {
  return allocate([=] { return require(_ZnwmRKSt9nothrow_t, "operator new")(bytes, nothrow); },
                  Release::delete_nothrow);
}
RUBATO_TM_EXPORT void* _ZGTtnamRKSt9nothrow_t(std::size_t bytes, const void* nothrow) {
  return allocate([=] { return require(_ZnamRKSt9nothrow_t, "operator new[]")(bytes, nothrow); },
                  Release::delete_array_nothrow);
}
RUBATO_TM_EXPORT void _ZGTtdlPv(void* pointer) { release(pointer, Release::delete_); }
RUBATO_TM_EXPORT void _ZGTtdaPv(void* pointer) { release(pointer, Release::delete_array); }
RUBATO_TM_EXPORT void _ZGTtdlPvRKSt9nothrow_t(void* pointer, const void*) {
  release(pointer, Release::delete_nothrow);
}
RUBATO_TM_EXPORT void _ZGTtdaPvRKSt9nothrow_t(void* pointer, const void*) {
  release(pointer, Release::delete_array_nothrow);
}
RUBATO_TM_EXPORT void _ZGTtdlPvm(void* pointer, std::size_t bytes) {
  release(pointer, Release::delete_sized, bytes);
}
RUBATO_TM_EXPORT void _ZGTtdlPvmRKSt9nothrow_t(void* pointer, std::size_t bytes, const void*) {
  release(pointer, Release::delete_sized_nothrow, bytes);
}
