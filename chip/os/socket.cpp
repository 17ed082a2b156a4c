// SPDX-License-Identifier: MIT
#include "chip/os/socket.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace rubato::chip {

// --- SocketQueue
// -----------------------------------------------------------------------------------------------

void SocketQueue::push(Item item) {
  bytes_ += item.bytes.size();
  items_.push_back(std::move(item));
}

void SocketQueue::append(std::span<const std::byte> bytes, PassedFiles files, int sender) {
  constexpr std::size_t kJoined = 65536;  // small writes share an item
  const bool joins = files.empty() && !items_.empty() && items_.back().files.empty() &&
                     items_.back().sender == sender && items_.back().bytes.size() + bytes.size() <= kJoined;
  if (!joins) {
    push({{bytes.begin(), bytes.end()}, {}, std::move(files), sender});
    return;
  }
  auto& last = items_.back().bytes;
  last.insert(last.end(), bytes.begin(), bytes.end());
  bytes_ += bytes.size();
}

std::int64_t SocketQueue::take_stream(std::span<std::byte> to, Incoming& with) {
  std::size_t done = 0;
  for (std::size_t at = 0; at < items_.size() && done < to.size();) {
    Item& item = items_[at];
    if (!item.files.empty() && done != 0) break;
    if (with.tells_sender && with.sender.value_or(item.sender) != item.sender) break;
    if (!with.sender) with.sender = item.sender;
    const bool has_files = !item.files.empty();
    const std::size_t n = std::min(to.size() - done, item.left());
    std::copy_n(item.bytes.begin() + static_cast<std::ptrdiff_t>(item.taken), n,
                to.begin() + static_cast<std::ptrdiff_t>(done));
    done += n;
    if (has_files) with.files = with.peeks ? item.files : std::exchange(item.files, {});
    if (with.peeks) {
      ++at;
    } else {
      item.taken += n;
      bytes_ -= n;
      if (item.left() == 0) items_.pop_front();
    }
    if (has_files) break;
  }
  return static_cast<std::int64_t>(done);
}

std::int64_t SocketQueue::take_message(std::span<std::byte> to, Incoming& with) {
  Item& item = items_.front();
  const std::size_t n = std::min(to.size(), item.bytes.size());
  std::copy_n(item.bytes.begin(), n, to.begin());
  with.has_source = true;
  with.source = item.source;
  with.whole = item.bytes.size();
  with.is_cut = n < item.bytes.size();
  with.files = item.files;
  with.sender = item.sender;
  if (!with.peeks) {
    bytes_ -= item.bytes.size();
    items_.pop_front();
  }
  return static_cast<std::int64_t>(n);
}

// --- Socket
// ----------------------------------------------------------------------------------------------------

Socket::Socket(LocalNetwork& network, const Kind& kind, std::uint32_t open_flags)
    : OpenFile(open_flags),
      options(kind.family, kind.type),
      network_(network),
      kind_(kind),
      number_(network.next_number()) {}

std::int64_t Socket::read(std::span<std::byte> to) {
  Incoming with;
  with.tells_sender = passes_credentials();
  return receive(to, with);
}
std::int64_t Socket::write(std::span<const std::byte> from) { return send(from, {}); }

std::int64_t Socket::stat(abi::Stat& result) { return stat_of_made_up(8, number_, S_IFSOCK | 0777, result); }

std::uint32_t Socket::poll(std::uint32_t events) {
  return state_bits() & (events | PollBits::kError | PollBits::kHangUp);
}

std::int64_t Socket::listen(int) { return -EOPNOTSUPP; }
std::int64_t Socket::accept(std::shared_ptr<Socket>&) { return -EOPNOTSUPP; }

std::int64_t Socket::bind(SocketAddress address) {
  if (is_bound()) return -EINVAL;
  if (!is_local()) {
    if (const std::int64_t error = network_.bind(shared_from_this(), address); error < 0) return error;
  } else if (address.name.empty() || address.is_abstract()) {
    if (!network_.bind_name(shared_from_this(), address.name)) return -EADDRINUSE;
  }
  local_ = std::move(address);
  bound_ip_ = local_.ip;
  return 0;
}

std::int64_t Socket::bind_if_needed() {
  return is_bound() ? 0 : bind({kind_.family, IpAddress::any(kind_.family), 0});
}

int Socket::sender_to(const Socket& to, const Outgoing& with) const {
  if (with.sender != 0) return with.sender;
  return passes_credentials() || to.passes_credentials() ? network_.caller() : 0;
}

SocketAddress Socket::seen_from(const IpAddress& to) const {
  SocketAddress result = local_;
  if (result.ip.is_any()) result.ip = IpAddress::loopback(to.is_v4());
  return result;
}

std::int64_t Socket::check_reachable(SocketAddress& to) const {
  if (to.ip.is_v4() ? only_v6() : kind_.family == Family::inet) return -ENETUNREACH;
  if (to.ip.is_any()) to.ip = IpAddress::loopback(to.ip.is_v4());
  return to.ip.is_loopback() ? 0 : -ENETUNREACH;
}

}  // namespace rubato::chip
