// run() on the simulated chip: one guest thread a core becomes a worker of the task region (C7), and
// some more, for tasks that run while others wait in system calls (C18).
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__riscv)

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "rubato/engine/chip_instructions.hpp"
#include "rubato/errors.hpp"

/// Enters the task region: the simulator recognizes programs that use the task model by this symbol. Every
/// task returns (ra) to the finish instruction behind region; after the region the owner goes on behind
/// finish. `stack_low` is the lowest address of the caller's stack that tasks on this core may use.
extern "C" [[gnu::noinline, gnu::used]] inline void rubato_task_region(void* stack_low, int is_worker) {
  namespace ins = rubato::engine::instruction;
#if defined(__cpp_exceptions)
  // Never true. An exception that leaves a task unwinds through here, from an instruction that the compiler
  // takes for harmless: this keeps the unwind table, and the caller's handler.
  if (is_worker > 1) throw is_worker;
#endif
  // A task's stack may begin below sp as it is here. So the unwinder must find this frame by s0, the frame
  // pointer, which a function has that allocates as much as it knows only when it runs.
  volatile std::size_t nothing = 0;
  asm volatile("" : : "r"(__builtin_alloca(nothing)));
  register void* a0 asm("a0") = stack_low;
#define RUBATO_CLOBBERS                                                                                      \
  "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "ft0", \
      "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11", "fa0", "fa1", "fa2",    \
      "fa3", "fa4", "fa5", "fa6", "fa7"
  if (is_worker != 0) {
    asm volatile(".insn i %1, %2, x0, x0, %3\n\t.insn i %1, %4, x0, x0, 0"
                 : "+r"(a0)
                 : "i"(ins::kOpcode), "i"(ins::kRegion), "i"(ins::kWorker), "i"(ins::kFinish)
                 : RUBATO_CLOBBERS);
  } else {
    asm volatile(".insn i %1, %2, x0, x0, %3\n\t.insn i %1, %4, x0, x0, 0"
                 : "+r"(a0)
                 : "i"(ins::kOpcode), "i"(ins::kRegion), "i"(ins::kEnter), "i"(ins::kFinish)
                 : RUBATO_CLOBBERS);
  }
#undef RUBATO_CLOBBERS
}

namespace rubato::inline v0::engine {

/// Stack of each task-running thread but the one that calls run(), whose tasks use its own stack below the
/// caller's frame, as many bytes. A guard page lies below. A program whose tasks have large locals is
/// compiled with -DRUBATO_TASK_STACK_BYTES=BYTES, a multiple of 4,096.
#ifdef RUBATO_TASK_STACK_BYTES
inline constexpr std::size_t kTaskStackBytes = RUBATO_TASK_STACK_BYTES;
#else
inline constexpr std::size_t kTaskStackBytes = 256 * 1024;
#endif
static_assert(kTaskStackBytes >= 16 * 1024 && kTaskStackBytes % 4096 == 0,
              "RUBATO_TASK_STACK_BYTES is a multiple of 4096, at least 16384");
inline constexpr std::size_t kGuardBytes = 4096;

/// Ends the program for an exception that left a task. Called while the exception is being handled.
[[noreturn, gnu::noinline]] inline void report_exception() {
  std::string what = "of an unknown type";
#if defined(__cpp_exceptions)
  try {
    throw;
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
  }
#endif
  rubato_misuse(errors::task_threw({running_function(), running_timestamp()}, what).c_str());
}

/// Serves or owns a region; an exception that leaves a task unwinds to here.
inline void enter_region(void* stack_low, int is_worker) {
#if defined(__cpp_exceptions)
  try {
    rubato_task_region(stack_low, is_worker);
  } catch (...) {
    report_exception();
  }
#else
  rubato_task_region(stack_low, is_worker);
#endif
}

/// How many workers are about to execute their region instruction.
inline std::atomic<std::uint32_t> workers_ready{0};

inline void* worker_main(void* stack_low) {
  workers_ready.fetch_add(1);
  workers_ready.notify_one();
  enter_region(stack_low, 1);
  return nullptr;  // not reached: a worker never leaves
}

/// Starts as many workers as the chip wants besides the caller, and waits until each is about to enter.
inline void start_workers() {
  const auto workers = static_cast<std::uint32_t>(instruction::read<instruction::kWorkers>() - 1);
  for (std::uint32_t w = 0; w < workers; ++w) {
    void* const memory = mmap(nullptr, kGuardBytes + kTaskStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
      misuse("run() got no memory for the stacks of " + std::to_string(workers) + " workers");
    mprotect(memory, kGuardBytes, PROT_NONE);
    char* const stack_low = static_cast<char*>(memory) + kGuardBytes;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack_low, kTaskStackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const int error = pthread_create(&thread, &attributes, worker_main, stack_low);
    pthread_attr_destroy(&attributes);
    if (error != 0) misuse("run() could not start a worker thread: " + std::string(std::strerror(error)));
  }
  for (std::uint32_t ready = workers_ready.load(); ready != workers; ready = workers_ready.load()) {
    workers_ready.wait(ready);
  }
}

inline bool workers_started = false;

/// The region itself, without checks.
[[gnu::noinline]] inline void run_region() {
  if (!workers_started) {
    workers_started = true;
    start_workers();
  }
  char* const frame = static_cast<char*>(__builtin_frame_address(0));
  enter_region(frame - kTaskStackBytes, 0);
}

}  // namespace rubato::inline v0::engine

#endif
