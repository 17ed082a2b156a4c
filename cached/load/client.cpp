// SPDX-License-Identifier: MIT
#include "cached/load/client.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace rubato::cached::load {

namespace {

constexpr ExitCode kNoServer = ExitCode{71};
constexpr std::uint64_t kSecond = 1'000'000'000, kNever = ~std::uint64_t{0};

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

int connect_by_name(const Plan& plan) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(plan.host.c_str(), plan.port.c_str(), &hints, &found))
    throw Error(kNoServer,
                fmt::format("there is no host {}:{}: {}", plan.host, plan.port, gai_strerror(error)));
  int descriptor = -1;
  for (const addrinfo* a = found; a && descriptor < 0; a = a->ai_next) {
    descriptor = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0 && ::connect(descriptor, a->ai_addr, a->ai_addrlen)) {
      const int error = errno;
      ::close(descriptor);
      descriptor = -1, errno = error;
    }
  }
  freeaddrinfo(found);
  return descriptor;
}

int connect_by_file(const Plan& plan) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (plan.socket.size() >= sizeof address.sun_path)
    throw UsageError("--socket: the name of a socket has at most {} bytes", sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, plan.socket.data(), plan.socket.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0 ||
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return descriptor;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return -1;
}

}  // namespace

int connect_to(const Plan& plan, TlsClient* with, std::unique_ptr<TlsStream>& tls) {
  const int descriptor = plan.socket.empty() ? connect_by_name(plan) : connect_by_file(plan);
  if (descriptor < 0)
    throw Error(kNoServer, fmt::format("cannot connect to {}: {}",
                                       plan.socket.empty() ? plan.host + ":" + plan.port : plan.socket,
                                       std::strerror(errno)));
  const int on = 1;
  if (plan.socket.empty()) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  try {
    if (with) tls = with->connect(descriptor, plan.host);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  return descriptor;
}

void Outcome::merge(const Outcome& other) {
  gets.merge(other.gets), sets.merge(other.sets);
  requests += other.requests, hits += other.hits, misses += other.misses, verified += other.verified;
  wrong += other.wrong, errors += other.errors;
  bytes_sent += other.bytes_sent, bytes_received += other.bytes_received;
  seconds = std::max(seconds, other.seconds);
  if (first_problem.empty()) first_problem = other.first_problem;
}

Client::Client(const Plan& plan, unsigned thread, unsigned threads)
    : plan_(plan),
      thread_(thread),
      threads_(threads),
      wire_(make_wire(plan.protocol)),
      values_(plan.smallest_value, plan.largest_value),
      chooser_(plan.keys, plan.zipf),
      rng_(plan.seed * 1'000'003 + thread),
      connections_((plan.connections + threads - 1 - thread) / threads),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  // Its edges alone matter, so that it need not be read.
  epoll_event timer{};
  timer.events = EPOLLIN | EPOLLET;
  epoll_ctl(poll_, EPOLL_CTL_ADD, timer_, &timer);
  std::unique_ptr<TlsClient> with;
  if (plan.tls.enabled) with = make_tls_client(plan.tls);
  for (Connection& c : connections_) {
    c.descriptor = connect_to(plan, with.get(), c.tls);
    epoll_event event{};
    event.events = EPOLLIN, event.data.ptr = &c;
    epoll_ctl(poll_, EPOLL_CTL_ADD, c.descriptor, &event);
  }
}

Client::~Client() {
  for (Connection& c : connections_)
    if (c.descriptor >= 0) close(c);
  ::close(poll_);
  ::close(timer_);
}

ssize_t Client::send_part(Connection& c) {
  const char* const from = c.out.data() + c.sent;
  const std::size_t n = c.out.size() - c.sent;
  return c.tls ? c.tls->send(from, n) : ::send(c.descriptor, from, n, MSG_NOSIGNAL);
}

ssize_t Client::receive_part(Connection& c, char* to, std::size_t n) {
  return c.tls ? c.tls->receive(to, n) : ::recv(c.descriptor, to, n, 0);
}

void Client::close(Connection& c) {
  c.tls.reset();
  ::close(std::exchange(c.descriptor, -1));
}

Outcome Client::fill() {
  filling_ = true;
  most_in_flight_ = std::max(plan_.in_flight, 32u);
  fill_next_ = thread_;
  left_ = (plan_.keys + threads_ - 1 - thread_) / threads_;
  count_from_ = 0, until_ = kNever, interval_ = 0;
  serve();
  filling_ = false;
  return std::exchange(outcome_, {});
}

Outcome Client::run() {
  const std::uint64_t start = nanoseconds();
  most_in_flight_ = plan_.in_flight;
  count_from_ = start + static_cast<std::uint64_t>(plan_.warm_up * 1e9);
  until_ = plan_.requests ? kNever : count_from_ + static_cast<std::uint64_t>(plan_.seconds * 1e9);
  left_ = plan_.requests ? (plan_.requests + threads_ - 1 - thread_) / threads_ : kNever;
  interval_ = plan_.rate > 0 ? static_cast<std::uint64_t>(1e9 * plan_.connections / plan_.rate) : 0;
  // Connections begin at moments that are spread over their interval.
  for (std::size_t n = 0; n < connections_.size(); ++n)
    connections_[n].next_moment = start + interval_ * (n * threads_ + thread_) / plan_.connections;
  serve();
  outcome_.seconds = static_cast<double>(nanoseconds() - count_from_) / 1e9;
  return std::exchange(outcome_, {});
}

void Client::serve() {
  epoll_event events[64];
  for (;;) {
    const std::uint64_t now = nanoseconds();
    for (Connection& c : connections_) write_due(c, now);
    if (!in_flight_ && (!left_ || now >= until_)) return;
    const int n = epoll_wait(poll_, events, 64, sleep_until(next_due(), now));
    for (int e = 0; e < n; ++e) {
      if (!events[e].data.ptr) continue;  // the timer, which is set again
      auto& c = *static_cast<Connection*>(events[e].data.ptr);
      const bool answers_keys = c.tls && c.tls->receive_waits_for_room();
      if (events[e].events & EPOLLOUT) flush(c);
      if (answers_keys || (events[e].events & ~static_cast<unsigned>(EPOLLOUT))) receive(c);
    }
  }
}

/// Milliseconds to wait for events; the timer, which is precise, ends the wait at the moment.
int Client::sleep_until(std::uint64_t moment, std::uint64_t now) {
  constexpr int kLook = 50;
  if (moment == kNever) return kLook;
  if (moment <= now) return 0;
  itimerspec when{};
  const std::uint64_t wait = moment - now;
  when.it_value = {static_cast<time_t>(wait / kSecond), static_cast<long>(wait % kSecond)};
  timerfd_settime(timer_, 0, &when, nullptr);
  return kLook;
}

bool Client::may_write(const Connection& c, std::uint64_t now) const {
  if (c.descriptor < 0 || c.waits_for_room || !left_ || c.pending.size() >= most_in_flight_) return false;
  return interval_ ? c.next_moment <= now && c.next_moment < until_ : now < until_;
}

/// In a closed loop nothing is due before an answer comes.
std::uint64_t Client::next_due() const {
  std::uint64_t due = kNever;
  if (!interval_ || !left_) return due;
  for (const Connection& c : connections_) {
    if (c.descriptor < 0 || c.waits_for_room || c.pending.size() >= most_in_flight_) continue;
    if (c.next_moment < until_) due = std::min(due, c.next_moment);
  }
  return due;
}

void Client::write_due(Connection& c, std::uint64_t now) {
  // Half of the window is refilled at once, as clients that pipeline do; a system call a request would
  // measure those.
  if (!interval_ && c.pending.size() > most_in_flight_ / 2) return;
  bool any = false;
  while (may_write(c, now)) {
    --left_, ++in_flight_;
    any = true;
    if (filling_) {
      write_set(c, fill_next_, now);
      fill_next_ += threads_;
    } else if (interval_) {
      write_request(c, std::exchange(c.next_moment, c.next_moment + interval_));
    } else {
      write_request(c, now);
    }
    if (c.out.size() - c.sent > 256 << 10) break;
  }
  if (any) flush(c);
}

void Client::write_request(Connection& c, std::uint64_t intended) {
  const std::uint64_t key = chooser_.next(rng_);
  if (plan_.sets > 0 && rng_.uniform() < plan_.sets) return write_set(c, key, intended);
  keys_.clear();
  keys_.push_back(key_text(key, plan_.key_size));
  for (unsigned n = 1; n < plan_.keys_a_get; ++n)
    keys_.push_back(key_text(chooser_.next(rng_), plan_.key_size));
  wire_->get(c.out, keys_);
  c.pending.push_back({intended, key, plan_.keys_a_get});
}

void Client::write_set(Connection& c, std::uint64_t key, std::uint64_t intended) {
  const std::uint64_t drawn = rng_();
  wire_->begin_set(c.out, key_text(key, plan_.key_size), values_.size(drawn));
  values_.append(c.out, key, drawn);
  wire_->end_set(c.out);
  c.pending.push_back({intended, key, 0});
}

void Client::flush(Connection& c) {
  while (c.descriptor >= 0 && c.sent < c.out.size()) {
    const ssize_t sent = send_part(c);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return receive(c);  // it says what happened
    if (sent < 0) break;
    c.sent += static_cast<std::size_t>(sent);
    outcome_.bytes_sent += static_cast<std::uint64_t>(sent);
  }
  const bool has_more = c.sent < c.out.size();
  if (!has_more) c.out.clear(), c.sent = 0;
  const bool waits = has_more || (c.tls && c.tls->receive_waits_for_room());
  if (waits == c.waits_for_room || c.descriptor < 0) return;
  c.waits_for_room = waits;
  epoll_event event{};
  event.events = EPOLLIN | (waits ? EPOLLOUT : 0u), event.data.ptr = &c;
  epoll_ctl(poll_, EPOLL_CTL_MOD, c.descriptor, &event);
}

void Client::receive(Connection& c) {
  do {
    receive_once(c);
  } while (c.descriptor >= 0 && c.tls && c.tls->holds_more());
}

void Client::receive_once(Connection& c) {
  if (c.descriptor < 0) return;
  constexpr std::size_t kRoom = 64 << 10;
  const std::size_t kept = c.in.size();
  c.in.resize(kept + kRoom);
  const ssize_t got = receive_part(c, c.in.data() + kept, kRoom);
  const int error = errno;
  c.in.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && (error == EAGAIN || error == EINTR)) return;
  if (got > 0) {
    outcome_.bytes_received += static_cast<std::uint64_t>(got);
    while (read_part(c)) {
    }
    c.in.erase(0, std::exchange(c.used, 0));
    if (c.descriptor >= 0) return;
  } else {
    problem(outcome_.errors, got ? fmt::format("a connection broke: {}", std::strerror(error))
                                 : "the server closed a connection");
  }
  in_flight_ -= c.pending.size();
  c.pending.clear();
  if (c.descriptor >= 0) close(c);
  // With no connection there is nothing left to do.
  if (std::all_of(connections_.begin(), connections_.end(),
                  [](const auto& one) { return one.descriptor < 0; }))
    left_ = 0;
}

bool Client::read_part(Connection& c) {
  if (c.used == c.in.size()) return false;
  const bool many = !c.pending.empty() && c.pending.front().keys_asked > 1;
  const Part part = wire_->read(std::string_view(c.in).substr(c.used), many);
  if (!part.used) return false;
  c.used += part.used;
  if (c.pending.empty()) {
    problem(outcome_.errors, fmt::format("an answer that was not asked for: {}", part.failure));
    close(c);
    return false;
  }
  Pending& request = c.pending.front();
  if (!part.failure.empty()) problem(outcome_.errors, fmt::format("the server answered '{}'", part.failure));
  if (part.has_value) {
    ++request.values;
    check(request, part);
  }
  if (!part.last) return true;
  if (request.intended >= count_from_) {
    const std::uint64_t now = nanoseconds();
    (request.keys_asked ? outcome_.gets : outcome_.sets).add(now - request.intended);
    ++outcome_.requests;
    outcome_.hits += request.values;
    if (request.keys_asked > request.values) outcome_.misses += request.keys_asked - request.values;
  }
  if (request.values > request.keys_asked)
    problem(outcome_.errors, fmt::format("{} values for {} keys", request.values, request.keys_asked));
  c.pending.pop_front();
  --in_flight_;
  return true;
}

void Client::check(const Pending& request, const Part& part) {
  if (!plan_.verify_every || ++values_seen_ % plan_.verify_every) return;
  const std::uint64_t key = key_number(part.key);
  ++outcome_.verified;
  const bool asked = request.keys_asked > 1 ? key < plan_.keys : key == request.key;
  if (!asked)
    problem(outcome_.wrong, fmt::format("asked for key {}, answered key '{}'", request.key, part.key));
  else if (!values_.right(key, part.value))
    problem(outcome_.wrong,
            fmt::format("a wrong value of {} bytes for key '{}'", part.value.size(), part.key));
}

void Client::problem(std::uint64_t& count, std::string sentence) {
  ++count;
  if (outcome_.first_problem.empty()) outcome_.first_problem = std::move(sentence);
}

}  // namespace rubato::cached::load
