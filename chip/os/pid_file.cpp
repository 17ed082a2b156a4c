// SPDX-License-Identifier: MIT
#include "chip/os/pid_file.hpp"

#include "chip/os/process_impl.hpp"

namespace rubato::chip {

std::int64_t PidFile::stat(abi::Stat& result) {
  result = {};
  result.mode = 0600;
  result.nlink = 1;
  return 0;
}

std::uint32_t PidFile::poll(std::uint32_t events) {
  return has_ended_() ? events & (PollBits::kIn | PollBits::kReadNormal) : 0;
}

std::int64_t Process::Impl::install_pidfd(int whom, std::uint32_t flags) {
  const auto has_ended = [&its = kernel, whom] { return its.find(whom) == nullptr; };
  return install(std::make_shared<PidFile>(whom, has_ended, abi::kReadWrite | flags), true);
}

std::shared_ptr<PidFile> Process::Impl::pid_file(int descriptor) const {
  return std::dynamic_pointer_cast<PidFile>(files.find(descriptor));
}

std::int64_t Process::Impl::sys_pidfd_open(Call& call) {
  if ((call.u32(1) & ~abi::kNonBlock) != 0 || call.i32(0) <= 0) return -EINVAL;
  if (!kernel.children.contains(call.i32(0)))
    return find_any_thread(call.i32(0)) != nullptr ? -ENOENT : -ESRCH;
  return install_pidfd(call.i32(0), call.u32(1));
}

std::int64_t Process::Impl::sys_pidfd_send_signal(Call& call) {
  constexpr std::int32_t kTkill = -6;  // SI_TKILL
  const std::int32_t signal = call.i32(1);
  if (call.u32(3) != 0) return -EINVAL;
  const auto file = pid_file(call.i32(0));
  if (!file) return -EBADF;
  abi::Siginfo siginfo{};
  siginfo.signo = signal;
  siginfo.sender = {pid, kGuestUser, 0};
  if (call.a[2] != 0) {
    const auto given = user.get<abi::Siginfo>(call.a[2]);
    if (!given) return -EFAULT;
    if (given->signo != signal) return -EINVAL;
    if (file->pid() != pid && (given->code >= 0 || given->code == kTkill)) return -EPERM;
    siginfo = *given;
  }
  if (signal < 0 || signal > abi::kSignals) return -EINVAL;
  Impl* const process = kernel.find(file->pid());
  if (process == nullptr) return kernel.children.contains(file->pid()) ? 0 : -ESRCH;
  return signal != 0 ? process->queue_signal(nullptr, siginfo) : 0;
}

// A process that ends gives its memory back at once, so there is never one to hurry.
std::int64_t Process::Impl::sys_process_mrelease(Call& call) {
  if (call.u32(1) != 0) return -EINVAL;
  const auto file = pid_file(call.i32(0));
  if (!file) return -EBADF;
  return kernel.find(file->pid()) != nullptr ? -EINVAL : -ESRCH;
}

std::int64_t Process::Impl::sys_pidfd_getfd(Call& call) {
  if (call.u32(2) != 0) return -EINVAL;
  const auto file = pid_file(call.i32(0));
  if (!file) return -EBADF;
  Impl* const process = kernel.find(file->pid());
  if (process == nullptr) return -ESRCH;
  auto its = process->files.find(call.i32(1));
  return its ? install(std::move(its), true) : -EBADF;
}

}  // namespace rubato::chip
