// System calls that send and receive by sockets, and what messages carry besides bytes.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "chip/os/process_impl.hpp"
#include "chip/os/socket.hpp"
#include "chip/os/user_buffers.hpp"

namespace rubato::chip {
namespace {

enum MessageFlag : std::uint32_t {
  kOutOfBand = 1,
  kPeek = 2,
  kControlCut = 8,
  kCut = 0x20,
  kDontWait = 0x40,
  kWaitAll = 0x100,
  kErrorQueue = 0x2000,
  kNoSignal = 0x4000,
  kWaitForOne = 0x10000,
  kCloexecFiles = 0x40000000,
};

struct MessageHeader {
  std::uint64_t name;
  std::uint32_t name_bytes, pad0;
  std::uint64_t ranges, range_count, control, control_bytes;
  std::uint32_t flags, pad1;
};
static_assert(sizeof(MessageHeader) == 56);
constexpr std::uint64_t kHeaderStride = 64;  ///< of mmsghdr: a header, its count of bytes
constexpr std::uint64_t kMostMessages = 1024;

struct ControlHeader {
  std::uint64_t bytes;  ///< with this header
  std::int32_t level, type;
};
constexpr std::int32_t kControlLevel = 1, kRights = 1, kCredentials = 2;
struct SenderCredentials {  // ucred
  std::int32_t pid;
  std::uint32_t uid, gid;
  bool operator==(const SenderCredentials&) const = default;
};
constexpr std::uint32_t kNoUser = 65534;    ///< of a sender that was not told
constexpr std::uint64_t kMostPassed = 253;  ///< SCM_MAX_FD
constexpr std::uint64_t kMostControl = 20480;

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

/// A stream's bytes move in parts of this size, each as a whole, if the program may not use an address.
constexpr std::uint64_t kPart = 32768;

std::uint64_t whole_parts(std::uint64_t bytes) { return bytes / kPart * kPart; }

}  // namespace

std::int64_t Process::Impl::socket_send(Call& call, Socket& socket, const std::vector<abi::Iovec>& ranges,
                                        std::uint32_t flags, Outgoing with) {
  if ((flags & kOutOfBand) != 0) return -EOPNOTSUPP;
  const UserBuffers buffers(user, ranges);
  const std::uint64_t good = buffers.readable_bytes(), all = buffers.bytes();
  const bool is_cut = good < all && !socket.has_messages() && !is_at_once();
  const std::uint64_t total = is_cut ? whole_parts(good) : all;
  if (good < total || (is_cut && total == 0)) return -EFAULT;
  if (socket.has_messages() && total > kPiece) return -EMSGSIZE;
  const bool may_wait = ((flags & kDontWait) | (socket.flags & abi::kNonBlock)) == 0;
  std::vector<std::byte> buffer;
  while (true) {
    buffer.resize(std::min(kPiece, total - call.progress));
    buffers.gather(call.progress, buffer);
    const std::int64_t put = socket.send(buffer, with);
    if (put == kWouldBlock) return wait_for_files(call, may_wait, socket.options.send_timeout);
    files_changed = true;
    if (put < 0) {
      if (call.progress != 0) return static_cast<std::int64_t>(call.progress);
      if (put == -EPIPE && socket.kind().type == SocketType::stream && (flags & kNoSignal) == 0)
        broken_pipe(call);
      return put;
    }
    with.files.clear();
    call.progress += static_cast<std::uint64_t>(put);
    if (socket.has_messages() || call.progress >= total) return static_cast<std::int64_t>(call.progress);
  }
}

std::int64_t Process::Impl::socket_receive(Call& call, Socket& socket, const std::vector<abi::Iovec>& ranges,
                                           std::uint32_t flags, Incoming& with) {
  if ((flags & kOutOfBand) != 0) return -EINVAL;
  if ((flags & kErrorQueue) != 0) return -EAGAIN;
  const UserBuffers buffers(user, ranges);
  const std::uint64_t total = buffers.bytes(), room = buffers.writable_bytes();
  if (is_at_once() && room < total) return -EFAULT;
  const bool may_wait = ((flags & kDontWait) | (socket.flags & abi::kNonBlock)) == 0;
  with.peeks = (flags & kPeek) != 0;
  with.tells_sender = socket.is_local() && socket.passes_credentials();
  const bool takes_all = (flags & kWaitAll) != 0 && !with.peeks && !socket.has_messages();
  std::vector<std::byte> buffer;
  while (true) {
    buffer.resize(std::min(kPiece, total - call.progress));
    // Bytes of a stream for which there is no room stay. A message is lost, as under Linux.
    const std::uint64_t left = room - std::min(room, call.progress);
    const std::int64_t there = left < buffer.size() && !socket.has_messages() ? socket.available() : 0;
    if (there > 0 && static_cast<std::uint64_t>(there) > left) {
      buffer.resize(whole_parts(left));
      if (buffer.empty()) return call.progress != 0 ? static_cast<std::int64_t>(call.progress) : -EFAULT;
    }
    const std::int64_t got = socket.receive(buffer, with);
    if (got == kWouldBlock) return wait_for_files(call, may_wait, socket.options.receive_timeout);
    files_changed = files_changed || !with.peeks;
    if (got < 0) return call.progress != 0 ? static_cast<std::int64_t>(call.progress) : got;
    if (static_cast<std::uint64_t>(got) > left) return -EFAULT;
    buffers.scatter(call.progress, std::span(buffer).first(static_cast<std::size_t>(got)));
    call.progress += static_cast<std::uint64_t>(got);
    const bool goes_on = takes_all && got != 0 && call.progress < total && with.files.empty();
    if (goes_on) continue;
    const bool tells_whole = (flags & kCut) != 0 && socket.has_messages();
    return static_cast<std::int64_t>(tells_whole ? with.whole : call.progress);
  }
}

void Process::Impl::broken_pipe(Call& call) {
  abi::Siginfo siginfo{};
  siginfo.signo = abi::kSigPipe;
  send_signal(&call.thread, siginfo);
}

std::int64_t Process::Impl::sys_sendto(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  Outgoing with;
  if (call.a[4] != 0 && call.u32(5) != 0) {
    with.to.emplace();
    if (error = get_destination(*socket, call.a[4], call.u32(5), *with.to); error < 0) return error;
  }
  return socket_send(call, *socket, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, call.u32(3),
                     std::move(with));
}

std::int64_t Process::Impl::sys_recvfrom(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  if (call.a[4] != 0 && !user.writable(call.a[5], 4)) return -EFAULT;
  Incoming with;
  const std::int64_t got =
      socket_receive(call, *socket, {{call.a[1], std::min(call.a[2], kMaxTransfer)}}, call.u32(3), with);
  if (call.outcome == SyscallOutcome::blocked || got < 0 || call.a[4] == 0) return got;
  const bool is_named = with.has_source && (!socket->is_local() || !with.source.name.empty());
  if (!is_named) {
    user.put<std::uint32_t>(call.a[5], 0);
    return got;
  }
  error = put_address(with.source, socket->kind().family, call.a[4], call.a[5]);
  return error < 0 ? error : got;
}

// --- messages
// --------------------------------------------------------------------------------------------------

std::int64_t Process::Impl::read_control(const Socket& socket, Addr a, std::uint64_t bytes,
                                         Outgoing& result) const {
  if (bytes > kMostControl) return -ENOBUFS;
  std::vector<std::byte> control(bytes);
  if (!user.read(a, control.data(), bytes)) return -EFAULT;
  ControlHeader header{};
  for (std::uint64_t at = 0; at + sizeof header <= bytes; at += aligned(header.bytes)) {
    std::memcpy(&header, control.data() + at, sizeof header);
    if (header.bytes < sizeof header || header.bytes > bytes - at) return -EINVAL;
    if (header.level != kControlLevel || !socket.is_local()) {
      if (header.level == kControlLevel) return -EINVAL;
      continue;
    }
    if (header.type == kCredentials) {
      SenderCredentials named{};
      if (header.bytes != sizeof header + sizeof named) return -EINVAL;
      std::memcpy(&named, control.data() + at + sizeof header, sizeof named);
      if (named != SenderCredentials{pid, kGuestUser, kGuestUser}) return -EPERM;
      result.sender = pid;
      continue;
    }
    if (header.type != kRights) return -EINVAL;
    const std::uint64_t count = (header.bytes - sizeof header) / 4;
    if (count + result.files.size() > kMostPassed) return -EINVAL;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::int32_t fd = 0;
      std::memcpy(&fd, control.data() + at + sizeof header + i * 4, sizeof fd);
      auto file = files.find(fd);
      if (!file) return -EBADF;
      result.files.push_back(std::move(file));
    }
  }
  return 0;
}

std::uint32_t Process::Impl::write_control(const Incoming& with, bool cloexec, Addr a, std::uint64_t& bytes) {
  const std::uint64_t room = bytes;
  std::uint32_t flags = 0;
  bytes = 0;
  const auto put = [&](std::int32_t type, const void* data, std::uint64_t count) {
    const ControlHeader header{sizeof header + count, kControlLevel, type};
    user.put(a + bytes, header);
    user.write(a + bytes + sizeof header, data, count);
    bytes = std::min(room, bytes + aligned(header.bytes));
  };
  if (with.tells_sender) {
    const std::uint32_t user_of_sender = with.sender.value_or(0) != 0 ? kGuestUser : kNoUser;
    const SenderCredentials credentials{with.sender.value_or(0), user_of_sender, user_of_sender};
    if (room >= sizeof(ControlHeader) + sizeof credentials) {
      put(kCredentials, &credentials, sizeof credentials);
    } else {
      flags |= kControlCut;
    }
  }
  if (with.files.empty()) return flags;
  std::vector<std::int32_t> fds;
  const std::uint64_t left = room - bytes;
  const std::uint64_t most = left < sizeof(ControlHeader) ? 0 : (left - sizeof(ControlHeader)) / 4;
  for (const auto& file : with.files) {
    if (fds.size() == most) break;
    const std::int64_t fd = install(file, cloexec);
    if (fd < 0) break;
    fds.push_back(static_cast<std::int32_t>(fd));
  }
  if (fds.size() < with.files.size()) flags |= kControlCut;  // the others are closed
  if (!fds.empty()) put(kRights, fds.data(), fds.size() * 4);
  return flags;
}

std::int64_t Process::Impl::send_message(Call& call, Socket& socket, Addr at, std::uint32_t flags) {
  const auto header = user.get<MessageHeader>(at);
  if (!header) return -EFAULT;
  std::vector<abi::Iovec> ranges;
  if (header->range_count > 1024) return -EMSGSIZE;
  if (const auto error = read_iovecs(header->ranges, header->range_count, ranges); error < 0) return error;
  Outgoing with;
  if (header->name != 0 && header->name_bytes != 0) {
    with.to.emplace();
    const auto error = get_destination(socket, header->name, header->name_bytes, *with.to);
    if (error < 0) return error;
  }
  // Files go with the first byte.
  if (header->control != 0 && header->control_bytes != 0 && call.progress == 0) {
    const auto error = read_control(socket, header->control, header->control_bytes, with);
    if (error < 0) return error;
  }
  return socket_send(call, socket, ranges, flags, std::move(with));
}

std::int64_t Process::Impl::receive_message(Call& call, Socket& socket, Addr at, std::uint32_t flags) {
  auto header = user.get<MessageHeader>(at);
  if (!header || !user.writable(at, sizeof *header)) return -EFAULT;
  std::vector<abi::Iovec> ranges;
  if (header->range_count > 1024) return -EMSGSIZE;
  if (const auto error = read_iovecs(header->ranges, header->range_count, ranges); error < 0) return error;
  const std::uint64_t control = header->control != 0 ? std::min(header->control_bytes, kMostControl) : 0;
  if (!user.writable(header->control, control)) return -EFAULT;
  if (header->name != 0 && !user.writable(header->name, std::min(header->name_bytes, 128u))) return -EFAULT;
  Incoming with;
  const std::int64_t got = socket_receive(call, socket, ranges, flags, with);
  if (call.outcome == SyscallOutcome::blocked || got < 0) return got;
  std::vector<std::byte> name;
  if (with.has_source && (!socket.is_local() || !with.source.name.empty()))
    name = guest_form(with.source, socket.kind().family);
  if (header->name != 0) {
    user.write(header->name, name.data(),
               std::min<std::uint64_t>(name.size(), std::min(header->name_bytes, 128u)));
    header->name_bytes = static_cast<std::uint32_t>(name.size());
  }
  header->control_bytes = control;
  header->flags = (with.is_cut ? kCut : 0u) | (flags & kCloexecFiles);
  header->flags |= write_control(with, (flags & kCloexecFiles) != 0, header->control, header->control_bytes);
  user.put(at, *header);
  return got;
}

std::int64_t Process::Impl::sys_sendmsg(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  return socket ? send_message(call, *socket, call.a[1], call.u32(2)) : error;
}

std::int64_t Process::Impl::sys_recvmsg(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  return socket ? receive_message(call, *socket, call.a[1], call.u32(2)) : error;
}

// Only the first message is waited for: fewer than asked for are allowed, and the caller asks again.
std::int64_t Process::Impl::transfer_messages(Call& call, bool sends) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  const std::uint64_t count = std::min<std::uint64_t>(call.u32(2), kMostMessages);
  std::int64_t done = 0;
  for (; static_cast<std::uint64_t>(done) < count; ++done) {
    const Addr at = call.a[1] + static_cast<std::uint64_t>(done) * kHeaderStride;
    if (!user.writable(at, kHeaderStride)) return done != 0 ? done : -EFAULT;
    const std::uint32_t flags = (call.u32(3) & ~kWaitForOne) | (done != 0 ? kDontWait : 0u);
    const std::int64_t moved =
        sends ? send_message(call, *socket, at, flags) : receive_message(call, *socket, at, flags);
    if (call.outcome == SyscallOutcome::blocked) return 0;
    if (moved < 0) return done != 0 ? done : moved;
    user.put(at + sizeof(MessageHeader), static_cast<std::uint32_t>(moved));
    call.progress = 0;
  }
  return done;
}

std::int64_t Process::Impl::sys_sendmmsg(Call& call) { return transfer_messages(call, true); }
std::int64_t Process::Impl::sys_recvmmsg(Call& call) { return transfer_messages(call, false); }

}  // namespace rubato::chip
