// On the context switch of Boost.Context: it saves what a call must keep, without a system call.
// SPDX-License-Identifier: MIT
#include "cached/tasks/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace rubato::cached {

namespace {
namespace jump = boost::context::detail;
constexpr std::size_t kGuard = 4096;
thread_local Fiber* running = nullptr;
}  // namespace

/// The jumps themselves. Never inlined, so that no address of a thread-local variable is kept over one.
struct Fiber::Switch {
  [[gnu::noinline]] static void into(Fiber& fiber) {
    Fiber* const outer = running;
    running = &fiber;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fiber.caller_fake_stack_, static_cast<char*>(fiber.mapping_) + kGuard,
                                   kStack);
#endif
#if defined(__SANITIZE_THREAD__)
    fiber.tsan_caller_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.tsan_own_, 0);
#endif
    const jump::transfer_t back = jump::jump_fcontext(fiber.context_, &fiber);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fiber.caller_fake_stack_, nullptr, nullptr);
#endif
    fiber.context_ = back.fctx;
    running = outer;  // resume() returns in the thread that called it
  }
  [[gnu::noinline]] static void out_of(Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(fiber.ended_ ? nullptr : &fiber.own_fake_stack_, fiber.caller_stack_,
                                   fiber.caller_stack_size_);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(fiber.tsan_caller_, 0);
#endif
    fiber.caller_ = jump::jump_fcontext(fiber.caller_, nullptr).fctx;
    arrived(fiber);
  }
  static void arrived([[maybe_unused]] Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fiber.own_fake_stack_, &fiber.caller_stack_, &fiber.caller_stack_size_);
#endif
  }
  static void begin(jump::transfer_t from) {
    Fiber& fiber = *static_cast<Fiber*>(from.data);
    fiber.caller_ = from.fctx;
    arrived(fiber);
    fiber.body_(fiber.argument_);
    fiber.ended_ = true;
    out_of(fiber);
  }
};

Fiber::Fiber()
    : mapping_(mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)) {
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(mapping_, kGuard, PROT_NONE)) {
    munmap(mapping_, kStack + kGuard);
    throw std::bad_alloc();
  }
#if defined(__SANITIZE_THREAD__)
  tsan_own_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(tsan_own_);
#endif
  munmap(mapping_, kStack + kGuard);
}

void Fiber::prepare(Body body, void* argument) {
  body_ = body, argument_ = argument, ended_ = false, own_fake_stack_ = nullptr;
  context_ = jump::make_fcontext(static_cast<char*>(mapping_) + kGuard + kStack, kStack, &Switch::begin);
}

bool Fiber::resume() {
  Switch::into(*this);
  return ended_;
}

void Fiber::leave() { Switch::out_of(*this); }

[[gnu::noinline]] Fiber* Fiber::current() {
  asm volatile("");  // a call that the compiler does not take for the same as the one before
  return running;
}

}  // namespace rubato::cached
