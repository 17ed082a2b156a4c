// SPDX-License-Identifier: MIT
#include "chip/os/signal_file.hpp"

#include <cerrno>
#include <cstring>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

/// signalfd_siginfo: the members that are filled.
struct SignalRecord {
  std::uint32_t signal;
  std::int32_t error, code;
  std::uint32_t pid, uid;
  std::int32_t fd;
  std::uint32_t timer, band, overrun, trap;
  std::int32_t status, value;
  std::uint64_t pointer, user_time, system_time, address;
  std::uint8_t pad[48];
};
static_assert(sizeof(SignalRecord) == 128);

SignalRecord record_of(const abi::Siginfo& info) {
  constexpr std::int32_t kTimer = -2;
  SignalRecord record{};
  record.signal = static_cast<std::uint32_t>(info.signo);
  record.error = info.error;
  record.code = info.code;
  if (info.code == kTimer) {
    record.timer = static_cast<std::uint32_t>(info.sender.pid);
    record.overrun = info.sender.uid;
  } else {
    record.pid = static_cast<std::uint32_t>(info.sender.pid);
    record.uid = info.sender.uid;
  }
  record.pointer = info.sender.value;
  record.value = static_cast<std::int32_t>(info.sender.value);
  return record;
}

}  // namespace

std::int64_t SignalFile::read(std::span<std::byte> to) {
  if (to.size() < sizeof(SignalRecord)) return -EINVAL;
  std::size_t done = 0;
  while (to.size() - done >= sizeof(SignalRecord) && (source_.pending_signals() & signals_) != 0) {
    const SignalRecord record = record_of(source_.take_pending(signals_));
    std::memcpy(to.data() + done, &record, sizeof record);
    done += sizeof record;
  }
  return done != 0 ? static_cast<std::int64_t>(done) : kWouldBlock;
}

std::int64_t SignalFile::stat(abi::Stat& result) {
  result = {};
  result.mode = 0600;
  result.nlink = 1;
  return 0;
}

std::uint32_t SignalFile::poll(std::uint32_t events) {
  return (source_.pending_signals() & signals_) != 0 ? events & PollBits::kIn : 0;
}

abi::Siginfo Process::Impl::take_pending(ThreadInfo& of, std::uint64_t signals) {
  const int own = of.pending.lowest(signals);
  return own != 0 ? take_signal(of.pending, own) : take_signal(pending, pending.lowest(signals));
}

std::int64_t Process::Impl::sys_signalfd4(Call& call) {
  if ((call.u32(3) & ~(abi::kCloseOnExec | abi::kNonBlock)) != 0 || call.a[2] != 8) return -EINVAL;
  auto signals = user.get<std::uint64_t>(call.a[1]);
  if (!signals) return -EFAULT;
  *signals &= ~(bit_of(abi::kSigKill) | bit_of(abi::kSigStop));
  if (call.i32(0) == -1)
    return install(
        std::make_shared<SignalFile>(kernel, *signals, abi::kReadOnly | (call.u32(3) & abi::kNonBlock)),
        (call.u32(3) & abi::kCloseOnExec) != 0);
  const auto found = files.find(call.i32(0));
  if (!found) return -EBADF;
  const auto file = std::dynamic_pointer_cast<SignalFile>(found);
  if (!file) return -EINVAL;
  file->set(*signals);
  files_changed = true;
  return call.i32(0);
}

}  // namespace rubato::chip
