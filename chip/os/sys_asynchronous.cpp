// Signal-driven input and output: O_ASYNC, FIOASYNC and the owner of a file, who gets a signal when a pipe or
// socket becomes ready.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <limits>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::int32_t kSetOwner = 8, kGetOwner = 9, kSetSignal = 10, kGetSignal = 11, kSetOwnerEx = 15,
                       kGetOwnerEx = 16;

/// struct f_owner_ex.
struct Owner {
  std::int32_t kind, id;
};

bool serves_signals(OpenFile& file) {
  return file.as_socket() != nullptr || dynamic_cast<PipeEnd*>(&file) != nullptr;
}

}  // namespace

std::int64_t Process::Impl::set_asynchronous(const std::shared_ptr<OpenFile>& file, bool is_on) {
  if (!serves_signals(*file)) return -ENOTTY;
  file->flags = is_on ? file->flags | abi::kAsync : file->flags & ~abi::kAsync;
  auto& all = kernel.asynchronous;
  std::erase_if(all, [&](const auto& one) { return one.expired() || one.lock() == file; });
  if (!is_on) return 0;
  file->owner.seen = file->edges().value_or(Edges{});
  all.push_back(file);
  return 0;
}

std::int64_t Process::Impl::control_owner(Call& call, OpenFile& file) {
  FileOwner& owner = file.owner;
  using Kind = FileOwner::Kind;
  switch (call.i32(1)) {
    case kSetOwner:
      if (call.i32(2) == std::numeric_limits<std::int32_t>::min()) return -EINVAL;
      owner.kind = call.i32(2) < 0 ? Kind::group : Kind::process;
      owner.id = std::abs(call.i32(2));
      return 0;
    case kGetOwner:
      return owner.kind == Kind::group ? -owner.id : owner.id;
    case kSetSignal:
      if (call.i32(2) < 0 || call.i32(2) > abi::kSignals) return -EINVAL;
      owner.signal = call.i32(2);
      return 0;
    case kGetSignal:
      return owner.signal;
    case kSetOwnerEx: {
      const auto wanted = user.get<Owner>(call.a[2]);
      if (!wanted) return -EFAULT;
      if (wanted->kind < 0 || wanted->kind > static_cast<std::int32_t>(Kind::group)) return -EINVAL;
      owner.kind = static_cast<Kind>(wanted->kind);
      owner.id = wanted->id;
      return 0;
    }
    case kGetOwnerEx:
      return user.put(call.a[2], Owner{static_cast<std::int32_t>(owner.kind), owner.id}) ? 0 : -EFAULT;
    default:
      return -EINVAL;
  }
}

void Process::Impl::signal_owners() {
  const auto all = kernel.asynchronous;  // a signal may end a process, and its files
  for (const auto& one : all) {
    const auto file = one.lock();
    if (!file) continue;
    const Edges now_there = file->edges().value_or(Edges{});
    if (now_there == file->owner.seen) continue;
    file->owner.seen = now_there;
    signal_owner(*file);
    if (kernel.is_over) return;
  }
}

void Process::Impl::signal_owner(OpenFile& file) {
  constexpr std::int32_t kOfKernel = 0x80, kIn = 1, kOut = 2;  // SI_KERNEL, POLL_IN, POLL_OUT
  const FileOwner& owner = file.owner;
  if (owner.id == 0) return;
  const bool is_readable = (file.poll(PollBits::kIn) & PollBits::kIn) != 0;
  abi::Siginfo siginfo{};
  siginfo.signo = owner.signal != 0 ? owner.signal : abi::kSigIo;
  siginfo.code = owner.signal == 0 ? kOfKernel : is_readable ? kIn : kOut;
  if (owner.kind == FileOwner::Kind::thread) {
    Thread* const thread = find_any_thread(owner.id);
    if (thread != nullptr) kernel.process_of(*thread).send_signal(thread, siginfo);
    return;
  }
  std::vector<int> pids;
  for (const auto& [its_pid, process] : kernel.processes)
    if (owner.kind == FileOwner::Kind::group ? kernel.children.at(its_pid).group == owner.id
                                             : its_pid == owner.id)
      pids.push_back(its_pid);
  for (const int its_pid : pids)
    if (Impl* const process = kernel.find(its_pid)) process->send_signal(nullptr, siginfo);
}

}  // namespace rubato::chip
