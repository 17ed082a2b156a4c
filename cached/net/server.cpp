// SPDX-License-Identifier: MIT
#include "cached/net/server.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <latch>

#include "base/error.hpp"
#include "base/host_port.hpp"
#include "cached/discipline/disciplines.hpp"
#include "cached/net/metrics.hpp"
#include "cached/privileges/privileges.hpp"
#include "cached/protocol/address.hpp"

namespace rubato::cached {

namespace {
constexpr ExitCode kOsError = ExitCode{71};
/// In front of an address of -l whose connections have no TLS in spite of -Z.
constexpr std::string_view kNoTls = "notls:";

std::uint64_t microseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

std::unique_ptr<CacheEngine> make_engine(const Settings& settings, const Clock& clock, EventLog& log) {
  EngineOptions options = settings.engine();
  options.evictions = &log;
  return find_discipline(settings.discipline)->make(options, clock);
}
}  // namespace

Server::Server(Settings& settings)
    : settings_(settings),
      log_(settings.watcher_log),
      engine_(make_engine(settings, clock_, log_)),
      prefixes_(settings.prefix_delimiter),
      context_{*engine_, settings, clock_, hash_named(settings.hash), *this, prefixes_, log_},
      maintainers_(*engine_, settings, clock_) {
  if (settings.tls.enabled) tls_ = make_tls_server(settings.tls), certificates_read_ = clock_.now();
  for (unsigned n = 0; n < settings.threads; ++n)
    workers_.push_back(std::make_unique<Worker>(context_, *this));
}

Server::~Server() { close_listeners(); }

void Server::close_listeners() {
  for (const auto& listener : listeners_) {
    listener->watch.reset();
    ::close(listener->descriptor);
  }
  listeners_.clear();
}

void Server::take_signals() {
  std::signal(SIGPIPE, SIG_IGN);  // a client may close while it is answered
  for (const int number : {SIGINT, SIGTERM}) loop_.on_signal(number, [this] { end(/*graceful=*/false); });
  loop_.on_signal(SIGUSR1, [this] { end(/*graceful=*/true); });
  loop_.on_signal(SIGHUP, [this] {
    if (!settings_.auth_file.empty() && !read_users())
      std::fprintf(stderr, "rubato-cached: cannot read '%s' again; the users stay as they are\n",
                   settings_.auth_file.c_str());
  });
}

void Server::bind() {
  if (!settings_.auth_file.empty() && !read_users())
    throw Error(ExitCode{64}, fmt::format("-Y: cannot read users from '{}', whose lines are user:password",
                                          settings_.auth_file));
  if (!settings_.metrics.empty())
    listen_on(settings_.metrics, 9150,
              ListenerKind::metrics);  // before the cache, which says by its port that all is up
  if (!settings_.socket.empty()) {
    listen_on_socket();
  } else if (settings_.port != 0) {
    const ListenerKind usual = tls_ ? ListenerKind::tls : ListenerKind::plain;
    if (settings_.addresses.empty()) listen_on("", settings_.port, usual);
    for (const std::string& address : settings_.addresses) {
      const bool plain = address.substr(0, kNoTls.size()) == kNoTls;
      listen_on(plain ? address.substr(kNoTls.size()) : address, settings_.port,
                plain ? ListenerKind::plain : usual);
    }
  }
}

void Server::open_memory_file() {
  if (!settings_.memory_file.empty()) memory_file_ = std::make_unique<MemoryFile>(settings_.memory_file);
}

void Server::open() {
  std::signal(SIGHUP, SIG_IGN);  // the users have just been read
  if (memory_file_)
    workers_[0]->counters().add(Count::total_items, memory_file_->take_back(*engine_, clock_, context_.hash));
  take_signals();  // first: a client that can connect can also end the server
  for (const auto& listener : listeners_)
    if (::listen(listener->descriptor, settings_.backlog))
      throw Error(kOsError, fmt::format("cannot listen on '{}': {}", listener->name, std::strerror(errno)));
  // Last: a start that fails leaves the items to the next one.
  if (memory_file_) memory_file_->forget();
  say_ports();
}

// For those that let the system choose (-p -1): on standard error with -v, and in the file that memcached's
// variable names, which appears whole.
void Server::say_ports() {
  std::string lines;
  for (const auto& listener : listeners_) {
    if (listener->kind == ListenerKind::metrics) continue;
    if (settings_.verbosity > 0)
      std::fprintf(stderr, "rubato-cached: listens on %s\n", listener->name.c_str());
    const std::string_view name = listener->name;
    const bool is_v6 = name.substr(0, 5) == "tcp6:";
    if (is_v6 || name.substr(0, 4) == "tcp:")
      lines += fmt::format("TCP {}: {}\n", is_v6 ? "INET6" : "INET", name.substr(name.rfind(':') + 1));
  }
  const char* const file = std::getenv("MEMCACHED_PORT_FILENAME");
  if (!file || !settings_.socket.empty()) return;
  const std::string unfinished = std::string(file) + ".lck";
  std::ofstream(unfinished) << lines;
  if (std::rename(unfinished.c_str(), file))
    std::fprintf(stderr, "rubato-cached: MEMCACHED_PORT_FILENAME: cannot write '%s'\n", file);
}

void Server::listen_on(const std::string& text, int port, ListenerKind kind) {
  const bool metrics = kind == ListenerKind::metrics;
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  const std::string address = metrics && is_number ? "127.0.0.1:" + text : text;
  const std::optional<HostPort> parts = host_and_port(address);
  if (!parts)
    throw UsageError("{}{}: an address is HOST, HOST:PORT or [IPV6]:PORT, and a port is 0 to 65535",
                     metrics ? "-o metrics=" : "-l ", text);
  std::string host(parts->host), service(parts->port);
  if (service.empty()) service = std::to_string(port < 0 ? 0 : port);
  if (host == "*") host.clear();
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE, hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found))
    throw Error(kOsError, fmt::format("cannot listen on '{}': {}", text, gai_strerror(error)));
  std::string failure;
  bool any = false;
  for (const addrinfo* a = found; a; a = a->ai_next) {
    const int descriptor = ::socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;  // a family that this system lacks
    const int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (a->ai_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (::bind(descriptor, a->ai_addr, a->ai_addrlen)) {
      failure = std::strerror(errno);
      ::close(descriptor);
      if (errno == EADDRNOTAVAIL && a->ai_family == AF_INET6) continue;
      freeaddrinfo(found);
      throw Error(kOsError, fmt::format("cannot listen on port {}: {}", service, failure));
    }
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length);
    // Both families of a port that the system chooses get the same one.
    if (port <= 0) {
      const auto chosen = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
      if (!metrics) settings_.port = chosen;
      if (a->ai_next) reinterpret_cast<sockaddr_in*>(a->ai_next->ai_addr)->sin_port = htons(chosen);
    }
    add_listener(descriptor, address_text(bound, length), kind);
    any = true;
  }
  freeaddrinfo(found);
  if (!any)
    throw Error(kOsError,
                fmt::format("cannot listen on '{}': {}", text, failure.empty() ? "no address" : failure));
}

void Server::listen_on_socket() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (settings_.socket.size() >= sizeof address.sun_path)
    throw Error(kOsError,
                fmt::format("-s: the name of a socket has at most {} bytes", sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, settings_.socket.data(), settings_.socket.size());
  struct stat status {};
  if (::lstat(address.sun_path, &status) == 0 && S_ISSOCK(status.st_mode)) ::unlink(address.sun_path);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const mode_t before = ::umask(static_cast<mode_t>(~settings_.socket_mask & 0777));
  const bool bound = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::umask(before);
  if (!bound)
    throw Error(kOsError, fmt::format("cannot listen on '{}': {}", settings_.socket, std::strerror(errno)));
  add_listener(descriptor, fmt::format("unix:{}", settings_.socket), ListenerKind::plain);
}

void Server::add_listener(int descriptor, std::string name, ListenerKind kind) {
  auto listener = std::make_unique<Listener>();
  *listener = {this, descriptor, kind, std::move(name), nullptr};
  listener->watch =
      std::make_unique<Loop::Watch>(loop_, descriptor, Loop::kRead, &acceptable, listener.get());
  listeners_.push_back(std::move(listener));
}

void Server::acceptable(void* listener, int) {
  Listener& l = *static_cast<Listener*>(listener);
  l.server->accept_from(l);
}

void Server::accept_from(Listener& listener) {
  for (int n = 0; n < 64; ++n) {
    const int descriptor = ::accept4(listener.descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EMFILE || errno == ENFILE) pause_accepting(true);
      return;
    }
    if (listener.kind == ListenerKind::metrics) {
      answer_metrics(descriptor, *this);
      continue;
    }
    accept_one(descriptor, listener.kind == ListenerKind::tls ? tls_.get() : nullptr);
    if (paused_) return;
  }
}

void Server::accept_one(int descriptor, TlsServer* tls) {
  if (current_.load() >= settings_.max_connections) {
    if (settings_.maxconns_fast) {
      constexpr std::string_view kSentence = "ERROR Too many open connections\r\n";
      [[maybe_unused]] const ssize_t sent =
          ::send(descriptor, kSentence.data(), kSentence.size(), MSG_NOSIGNAL);
      ::close(descriptor);
      rejected_.add();
      return;
    }
    pause_accepting(true);
  }
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ++current_;
  total_.add();
  workers_[next_worker_++ % workers_.size()]->adopt(descriptor, tls);
}

void Server::pause_accepting(bool pause) {
  if (pause == paused_) return;
  paused_ = pause;
  if (pause)
    disabled_.add(), paused_since_ = microseconds();
  else
    disabled_us_.add(microseconds() - paused_since_);
  for (const auto& listener : listeners_)
    listener->watch->change(pause ? 0 : static_cast<short>(Loop::kRead));
  if (pause) look_again_.set(kPause);
}

void Server::resume_accepting() {
  if (current_.load() < settings_.max_connections)
    pause_accepting(false);
  else
    look_again_.set(kPause);
}

// No request has been read so far.
void Server::drop_privileges() {
  // A worker needs calls for its start that are not allowed afterwards.
  std::latch turning(static_cast<std::ptrdiff_t>(workers_.size()));
  for (const auto& worker : workers_) worker->loop().post([&turning] { turning.count_down(); });
  turning.wait();
  cached::drop_privileges({.reads_files = !settings_.auth_file.empty() || tls_ != nullptr,
                           .removes_files = !settings_.socket.empty() || !settings_.pid_file.empty(),
                           .keeps_items = memory_file_ != nullptr});
}

int Server::run() {
  // Signals are taken in this thread's loop.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSYS);  // of the thread that makes a call which is not allowed
  pthread_sigmask(SIG_SETMASK, &all, &before);
  engine_->start();
  for (const auto& worker : workers_) worker->start();
  maintainers_.start();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  loop_.every(250, [this] { clock_.tick(); });
  if (settings_.drop_privileges) drop_privileges();
  loop_.run();
  maintainers_.stop();
  for (const auto& worker : workers_) worker->stop();
  engine_->stop();
  close_listeners();
  if (!settings_.socket.empty()) ::unlink(settings_.socket.c_str());
  if (memory_file_ && graceful_) save_items();
  return 0;
}

void Server::save_items() {
  std::signal(SIGUSR1, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
  for (const int number : {SIGINT, SIGTERM})
    std::signal(number, SIG_DFL);  // it can still be ended, without items
  memory_file_->save(*engine_, clock_);
}

void Server::end(bool graceful) {
  if (graceful) graceful_ = true;
  loop_.stop();
}

std::string Server::refresh_certificates() {
  if (!tls_) return "Error TLS not enabled";
  std::string error = tls_->refresh();
  if (error.empty()) certificates_read_ = clock_.now();
  return error;
}

bool Server::read_users() {
  std::ifstream file(settings_.auth_file);
  std::map<std::string, std::string, std::less<>> users;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return false;
    users[line.substr(0, colon)] = line.substr(colon + 1);
  }
  if (users.empty()) return false;
  std::lock_guard guard(users_mutex_);
  users_.swap(users);
  return true;
}

bool Server::authenticates(std::string_view user, std::string_view password) {
  std::lock_guard guard(users_mutex_);
  const auto found = users_.find(user);
  if (found == users_.end() || found->second.size() != password.size()) return false;
  // As long for a wrong first letter as for a wrong last one.
  unsigned char differs = 0;
  for (std::size_t n = 0; n < password.size(); ++n)
    differs = static_cast<unsigned char>(differs | (found->second[n] ^ password[n]));
  return differs == 0;
}

ServerNumbers Server::numbers() {
  ServerNumbers numbers;
  numbers.current = static_cast<std::uint64_t>(current_.load());
  numbers.total = total_.get(), numbers.rejected = rejected_.get();
  numbers.disabled = disabled_.get(), numbers.disabled_us = disabled_us_.get();
  numbers.accepting = !paused_;
  numbers.libevent = Loop::library_version();
  numbers.juggles = maintainers_.juggles(), numbers.crawls = maintainers_.crawls();
  numbers.crawling = maintainers_.crawling(), numbers.moving = maintainers_.moving();
  if (tls_) {
    numbers.new_sessions = tls_->new_sessions();
    numbers.certificates_age = clock_.now() - certificates_read_.load();
  }
  for (const auto& worker : workers_) numbers.threads.push_back(&worker->counters());
  numbers.own = engine_->own_counters();
  for (const auto& listener : listeners_)
    if (listener->kind != ListenerKind::metrics)
      numbers.connections.push_back(
          {listener->descriptor, listener->name, "", "conn_listening", clock_.uptime()});
  return numbers;
}

bool Server::report(std::string_view group, const StatSink& sink) {
  ServerNumbers now = numbers();
  if (group == "conns") {
    for (const auto& worker : workers_) worker->describe(now.connections);
    std::sort(now.connections.begin(), now.connections.end(),
              [](const auto& a, const auto& b) { return a.descriptor < b.descriptor; });
  }
  return report_statistics(group, context_, now, sink);
}

void Server::reset_statistics() {
  for (const auto& worker : workers_) worker->counters().reset();
  engine_->reset_statistics();
  prefixes_.reset();
  if (tls_) tls_->reset_statistics();
  total_.reset();
}

}  // namespace rubato::cached
