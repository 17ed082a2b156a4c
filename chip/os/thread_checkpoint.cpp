// The threads of a process in checkpoints: registers, why each waits, and the order in which they wait.
// SPDX-License-Identifier: MIT
#include <string>

#include "chip/memory/checkpoint_file.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

/// A number that is less than `end`.
std::uint64_t number_below(CheckpointReader& file, std::uint64_t end) {
  const std::uint64_t number = file.number();
  if (number >= end) file.refuse_damaged();
  return number;
}

constexpr std::uint64_t kMostThreads = std::uint64_t{1} << 24;  // only a damaged file has more
constexpr std::uint64_t kMostAffinityWords = kMaxCores / 64 + 1;
constexpr auto kStates = static_cast<std::uint64_t>(ThreadState::exited) + 1;
constexpr auto kWaits = static_cast<std::uint64_t>(WaitKind::vfork) + 1;

void save_wait(CheckpointWriter& file, const Wait& wait) {
  file.number(static_cast<std::uint64_t>(wait.kind));
  file.number(wait.futex);
  file.number(wait.bitset);
  file.number(wait.is_lock ? 1 : 0);
  file.number(wait.deadline ? 1 : 0);
  file.number(wait.deadline.value_or(0));
  file.number(wait.remaining);
  file.number(wait.signals);
  file.number(wait.number);
  file.number(wait.progress);
  file.object(wait.arguments);
}

void save_thread(CheckpointWriter& file, const Thread& thread, const ThreadInfo& info) {
  file.number(static_cast<std::uint64_t>(thread.state));
  file.object(thread.regs);
  file.number(thread.instructions);
  file.number(thread.affinity.size());
  for (const std::uint64_t word : thread.affinity) file.number(word);
  for (const std::uint64_t number :
       {thread.clear_child_tid, thread.robust_list, thread.stack_low, thread.stack_high, thread.signal_mask})
    file.number(number);
  file.object(info.alternate_stack);
  file.number(info.saved_mask);
  file.number(info.restores_mask ? 1 : 0);
  file.number(info.cpu_shown);
  file.text(info.name);
  save_wait(file, info.wait);
}

void restore_thread(CheckpointReader& file, Thread& thread, ThreadInfo& info) {
  thread.state = static_cast<ThreadState>(number_below(file, kStates));
  thread.regs = file.object<HartState>();
  thread.instructions = file.number();
  thread.affinity.resize(number_below(file, kMostAffinityWords + 1));
  for (std::uint64_t& word : thread.affinity) word = file.number();
  for (std::uint64_t* const number : {&thread.clear_child_tid, &thread.robust_list, &thread.stack_low,
                                      &thread.stack_high, &thread.signal_mask})
    *number = file.number();
  info.alternate_stack = file.object<abi::StackT>();
  info.saved_mask = file.number();
  info.restores_mask = file.number() != 0;
  info.cpu_shown = file.number();
  info.name = file.text();
}

}  // namespace

void Process::Impl::save_threads(CheckpointWriter& file) const {
  file.number(threads.size());
  for (const auto& thread : threads) save_thread(file, *thread, info(*thread));
  std::uint64_t in_futexes = 0;
  for (const auto& [key, queue] : futexes) in_futexes += queue.size();
  file.number(in_futexes);
  for (const auto& [key, queue] : futexes)
    for (const Thread* const thread : queue) file.number(static_cast<std::uint64_t>(thread->tid));
  file.number(file_waits.size());
  for (const Thread* const thread : file_waits) file.number(static_cast<std::uint64_t>(thread->tid));
}

void Process::Impl::restore_threads(CheckpointReader& file) {
  const std::uint64_t count = number_below(file, kMostThreads);
  if (count == 0) file.refuse_damaged();
  for (std::uint64_t i = 0; i < count; ++i) {
    Thread& thread = i == 0 ? *threads.front() : kernel.create_thread(pid);
    restore_thread(file, thread, info(thread));
    restore_wait(file, thread);
  }
  for (std::uint64_t left = file.number(); left != 0; --left) {
    Thread& thread = waiting_thread(file, WaitKind::futex);
    Wait& wait = info(thread).wait;
    wait.key = key_of(wait.futex);
    futexes[wait.key].push_back(&thread);
  }
  for (std::uint64_t left = file.number(); left != 0; --left)
    file_waits.push_back(&waiting_thread(file, WaitKind::files));
}

void Process::Impl::restore_wait(CheckpointReader& file, Thread& thread) {
  Wait& wait = info(thread).wait;
  wait.kind = static_cast<WaitKind>(number_below(file, kWaits));
  wait.futex = file.number();
  wait.bitset = static_cast<std::uint32_t>(file.number());
  wait.is_lock = file.number() != 0;
  const bool has_deadline = file.number() != 0;
  const std::uint64_t deadline = file.number();
  wait.remaining = file.number();
  wait.signals = file.number();
  wait.number = file.number();
  wait.progress = file.number();
  wait.arguments = file.object<decltype(wait.arguments)>();
  if (!has_deadline) return;
  wait.deadline = deadline;
  timeouts.emplace(deadline, thread.tid);
}

Thread& Process::Impl::waiting_thread(CheckpointReader& file, WaitKind kind) const {
  Thread* const thread = find_any_thread(static_cast<std::int64_t>(file.number()));
  if (thread == nullptr || thread->state != ThreadState::blocked || info(*thread).wait.kind != kind)
    file.refuse_damaged();
  return *thread;
}

}  // namespace rubato::chip
