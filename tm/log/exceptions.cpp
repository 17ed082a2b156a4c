// SPDX-License-Identifier: MIT
#include "tm/log/exceptions.hpp"

#include "tm/failure.hpp"
#include "tm/fault.hpp"

extern "C" {
[[gnu::weak]] void* __cxa_allocate_exception(std::size_t) noexcept;
[[gnu::weak]] void __cxa_free_exception(void*) noexcept;
[[noreturn, gnu::weak]] void __cxa_throw(void*, void*, void (*)(void*));
[[gnu::weak]] void* __cxa_begin_catch(void*) noexcept;
[[gnu::weak]] void __cxa_end_catch();
[[gnu::weak]] rubato::tm::CxaGlobals* __cxa_get_globals() noexcept;
[[gnu::weak]] void _Unwind_DeleteException(void*);
}

namespace rubato::tm {

void Exceptions::attach_to_thread() {
  globals_ = __cxa_get_globals != nullptr ? __cxa_get_globals() : &none_;
}

bool Exceptions::is_in_object(const void* p, std::size_t first_object) {
  const auto place = reinterpret_cast<std::uintptr_t>(p);
  for (std::size_t i = first_object; i < objects_.size(); ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(CxaException::of(objects_[i].exception)->object());
    if (place - begin < objects_[i].bytes) return true;
  }
  return false;
}

/// The latest first, which is mostly meant.
Exceptions::Object* Exceptions::find(const void* exception) {
  for (Object* entry = objects_.end(); entry != objects_.begin();) {
    if ((--entry)->exception == exception && entry->state != State::over) return entry;
  }
  return nullptr;
}

bool Exceptions::is_caught(const void* exception) const {
  for (CxaException* each = globals_->caught; each != nullptr; each = each->next) {
    if (each->name() == exception) return true;
    if (!each->is_cxx()) return false;
  }
  return false;
}

void* Exceptions::allocate(std::size_t bytes) {
  if (__cxa_allocate_exception == nullptr) fatal("an exception is thrown in a program without libstdc++");
  objects_.extend(1);  // may restart the transaction, before there is anything to lose
  objects_.pop();
  void* const object = __cxa_allocate_exception(bytes);
  objects_.push({CxaException::of_object(object)->name(), bytes, State::unthrown});
  return object;
}

void Exceptions::free_unthrown(void* object) {
  Object* const entry = find(CxaException::of_object(object)->name());
  if (entry != nullptr && entry->state == State::unthrown) {
    entry->state = State::freed;
  } else {
    __cxa_free_exception(object);
  }
}

void Exceptions::throw_object(void* object, void* type, void (*destructor)(void*)) {
  Object* const entry = find(CxaException::of_object(object)->name());
  if (entry != nullptr && entry->state == State::unthrown) entry->state = State::thrown;
  __cxa_throw(object, type, destructor);
}

void Exceptions::note(void* exception) {
  if (find(exception) == nullptr && !is_caught(exception)) objects_.push({exception, 0, State::foreign});
}

void* Exceptions::begin_catch(void* exception) {
  note(exception);
  return __cxa_begin_catch(exception);
}

void Exceptions::end_catch() {
  CxaException* const caught = globals_->caught;
  const bool is_last = caught != nullptr && (!caught->is_cxx() || caught->handlers == 1);
  Object* const entry = is_last ? find(caught->name()) : nullptr;
  if (entry != nullptr) entry->state = State::over;
  __cxa_end_catch();
}

CxaException* Exceptions::ending() {
  CxaException* const caught = globals_->caught;
  if (caught == nullptr || !caught->is_primary() || caught->handlers != 1) return nullptr;
  const Object* const entry = find(caught->name());
  return entry != nullptr && entry->state == State::thrown ? caught : nullptr;
}

void Exceptions::end_catch_keeping(CxaException* exception) {
  __atomic_add_fetch(&exception->references(), 1, __ATOMIC_ACQ_REL);
  __cxa_end_catch();
}

void Exceptions::release(void* exception) { _Unwind_DeleteException(exception); }

/// An exception that was made in the transaction is undone, and needs no destructor, not even where a pure
/// function has kept a std::exception_ptr. A foreign one needs its own.
void Exceptions::take_back(const Object& entry) {
  CxaException* const exception = CxaException::of(entry.exception);
  switch (entry.state) {
    case State::unthrown:
    case State::freed:
      return __cxa_free_exception(exception->object());
    case State::thrown:
      exception->destructor = nullptr;
      if (__atomic_sub_fetch(&exception->references(), 1, __ATOMIC_ACQ_REL) == 0)
        __cxa_free_exception(exception->object());
      return;
    case State::foreign:
      return _Unwind_DeleteException(entry.exception);
    case State::over:
      return;
  }
}

// The handlers that began since the mark end here, without an end of what they caught: all of that is in the
// list.
void Exceptions::roll_back_to(const Mark& mark) {
  if (!has_fault(Fault::handlers_not_restored)) {
    *globals_ = mark.globals;
    if (__builtin_expect(mark.globals.caught != nullptr, false) && mark.globals.caught->is_cxx())
      mark.globals.caught->handlers = mark.handlers;
  }
  for (std::size_t i = mark.objects; i < objects_.size(); ++i) take_back(objects_[i]);
  objects_.resize_down(mark.objects);
}

void Exceptions::end() {
  for (const Object& entry : objects_) {
    if (entry.state == State::freed) take_back(entry);
  }
  objects_.clear();
}

}  // namespace rubato::tm
