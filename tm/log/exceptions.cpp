// SPDX-License-Identifier: MIT
#include "tm/log/exceptions.hpp"

#include "tm/failure.hpp"

extern "C" {
[[gnu::weak]] void* __cxa_allocate_exception(std::size_t) noexcept;
[[noreturn, gnu::weak]] void __cxa_throw(void*, void*, void (*)(void*));
[[gnu::weak]] void* __cxa_begin_catch(void*) noexcept;
[[gnu::weak]] void __cxa_end_catch();
[[gnu::weak]] rubato::tm::CxaGlobals* __cxa_get_globals() noexcept;
[[gnu::weak]] void __cxa_tm_cleanup(void*, void*, unsigned int) noexcept;
[[gnu::weak]] void _Unwind_DeleteException(void*);
}

namespace rubato::tm {
namespace {

/// The unwinder's header lies right before the object (Itanium C++ ABI, 2.2.1).
constexpr std::size_t kUnwindHeader = 32;
void* header_of(void* object) { return static_cast<char*>(object) - kUnwindHeader; }

}  // namespace

void Exceptions::attach_to_thread() {
  globals_ = __cxa_get_globals != nullptr ? __cxa_get_globals() : nullptr;
}
void Exceptions::set_uncaught_count(std::uint32_t count) {
  if (globals_ != nullptr) globals_->uncaught_exceptions = count;
}
void Exceptions::free_object(void* object) {
  const std::uint32_t count = uncaught_count();  // the clean-up takes the object for one that counts
  if (__cxa_tm_cleanup != nullptr) __cxa_tm_cleanup(object, nullptr, 0);
  set_uncaught_count(count);
}

Exceptions::Mark Exceptions::mark() const { return {objects_.size(), caught_, uncaught_count(), in_flight_}; }

void Exceptions::forget() {
  objects_.clear();
  caught_ = 0;
  in_flight_ = nullptr;
}

bool Exceptions::is_in_object(const void* p, std::size_t first_object) {
  const auto place = reinterpret_cast<std::uintptr_t>(p);
  for (std::size_t i = first_object; i < objects_.size(); ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(objects_[i].object);
    if (place - begin < objects_[i].bytes) return true;
  }
  return false;
}

void* Exceptions::allocate(std::size_t bytes) {
  if (__cxa_allocate_exception == nullptr) fatal("an exception is thrown in a program without libstdc++");
  objects_.extend(1);  // may restart the transaction, before there is anything to lose
  objects_.pop();
  void* const object = __cxa_allocate_exception(bytes);
  objects_.push({object, bytes, State::unthrown});
  return object;
}

// Kept until the end: the undo log may hold values of it.
void Exceptions::free_unthrown(void* object) {
  for (Object& entry : objects_) {
    if (entry.object == object && entry.state == State::unthrown) {
      entry.state = State::freed;
      return;
    }
  }
  free_object(object);
}

void Exceptions::throw_object(void* object, void* type, void (*destructor)(void*)) {
  for (Object& entry : objects_) {
    if (entry.object == object && entry.state == State::unthrown) entry.state = State::thrown;
  }
  in_flight_ = header_of(object);
  __cxa_throw(object, type, destructor);
}

void* Exceptions::begin_catch(void* exception) {
  in_flight_ = nullptr;
  ++caught_;
  return __cxa_begin_catch(exception);
}

void Exceptions::end_catch() {
  if (caught_ > 0) --caught_;
  __cxa_end_catch();
}

const Range* Exceptions::ranges(const Mark& mark) {
  ranges_.clear();
  Range* const room = ranges_.extend(objects_.size() - mark.objects);
  for (std::size_t i = mark.objects; i < objects_.size(); ++i) {
    const auto first = reinterpret_cast<std::uintptr_t>(objects_[i].object);
    room[i - mark.objects] = {first, first + objects_[i].bytes};
  }
  return room;
}

void Exceptions::roll_back_to(const Mark& mark) {
  if (objects_.size() != mark.objects || caught_ != mark.caught || in_flight_ != mark.in_flight)
    clean_up(mark);
  set_uncaught_count(mark.uncaught);  // also of exceptions that the library does not know
}

void Exceptions::clean_up(const Mark& mark) {
  if (__cxa_tm_cleanup != nullptr) {
    if (caught_ > mark.caught) __cxa_tm_cleanup(nullptr, nullptr, caught_ - mark.caught);
    if (in_flight_ != mark.in_flight && in_flight_ != nullptr) __cxa_tm_cleanup(nullptr, in_flight_, 0);
  } else if (in_flight_ != nullptr && _Unwind_DeleteException != nullptr) {
    _Unwind_DeleteException(in_flight_);
  }
  for (std::size_t i = mark.objects; i < objects_.size(); ++i) {
    if (objects_[i].state != State::thrown) free_object(objects_[i].object);
  }
  objects_.resize_down(mark.objects);
  caught_ = mark.caught;
  in_flight_ = mark.in_flight;
}

void Exceptions::end() {
  for (const Object& entry : objects_) {
    if (entry.state == State::freed) free_object(entry.object);
  }
  forget();
}

}  // namespace rubato::tm
