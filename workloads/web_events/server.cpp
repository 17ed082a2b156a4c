// SPDX-License-Identifier: MIT
#include "workloads/web_events/server.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "workloads/common/workload.hpp"

namespace rubato::workloads::web {

Shared::Shared(const Clients& c, unsigned directories, std::uint64_t cache_bytes, std::uint64_t the_seed)
    : clients(c),
      seed(the_seed),
      site(directories, the_seed),
      paths(site),
      files(site, cache_bytes),
      pages(c.templates, c.users, the_seed + 1),
      log(std::size_t{1} << 18) {}

EventLoop::EventLoop(Shared& shared, unsigned connections, std::uint64_t seed) : shared_(shared), rng_(seed) {
  for (unsigned i = 0; i < connections; ++i) {
    connections_.push_back(std::make_unique<Connection>());
    accept(*connections_.back());
  }
}

void EventLoop::accept(Connection& c) {
  c.rng = Rng(mix64(shared_.seed + shared_.next_connection.fetch_add(1, std::memory_order_relaxed)));
  ++served_.connections;
}

void EventLoop::run(std::uint64_t requests) {
  while (requests > 0) {
    Connection& c = *connections_[rng_.below(connections_.size())];  // clients are ready in any order
    if (c.state == State::waits) read(c);
    if (!send(c)) continue;
    answered(c);
    --requests;
  }
}

void EventLoop::read(Connection& c) {
  write_request(c.text, shared_.site, shared_.clients, c.rng);
  Request request;
  const bool is_request = parse_request({c.text.text.data(), c.text.size}, request);
  if (!is_request) ++served_.wrong;
  c.keeps_alive = request.keeps_alive;
  c.user = request.user;
  c.state = State::sends;
  static constexpr const char* kHead = "HTTP/1.1 200 OK\r\nServer: events\r\nContent-Type: text/html\r\n\r\n";
  c.sum = c.response.put_text(kHead);
  c.left = 0;
  if (request.is_built) {
    c.kind = Site::kClasses;
    c.sum += shared_.pages.build(request.page, request.user, c.response);
    return;
  }
  c.file = shared_.paths.find(request.path);
  if (c.file == Site::kNotFound) {
    ++served_.wrong;
    c.kind = 0;
    return;
  }
  c.kind = c.file % Site::kFilesOfDirectory / Site::kFilesOfClass;
  c.content = shared_.files.acquire(c.file);
  ++served_.users;
  c.left = shared_.site.words(c.file);
  c.sum += shared_.site.check(c.file);
}

bool EventLoop::send(Connection& c) {
  const std::uint64_t words = std::min<std::uint64_t>(c.left, c.buffer.words.size());
  c.response.put(c.content, words);
  c.response.transmit();
  c.content += words;
  c.left -= words;
  return c.left == 0;
}

void EventLoop::answered(Connection& c) {
  const Response::Arrived arrived = c.response.end();
  if (arrived.sum != c.sum) ++served_.wrong;
  if (c.kind < Site::kClasses) {
    shared_.files.release(c.file);
    --served_.users;
  }
  Shared::Counter& counter = shared_.counters[c.kind];
  {
    const std::lock_guard<DataLatch> guard(counter.latch);
    ++counter.requests;
    counter.words += arrived.words;
  }
  ++served_.requests;
  ++served_.of_kind[c.kind];
  served_.words[c.kind] += arrived.words;
  std::array<char, 96> line;
  const int size = std::snprintf(line.data(), line.size(), "user%u kind%u file%u %llu\n", c.user, c.kind,
                                 c.file, static_cast<unsigned long long>(8 * arrived.words));
  lines_.append(line.data(), static_cast<std::size_t>(size));
  if (lines_.size() > 4096) flush_log();
  c.state = State::waits;
  if (!c.keeps_alive) accept(c);
}

void EventLoop::flush_log() {
  shared_.log.append(lines_, served_.logged);
  lines_.clear();
}

void EventLoop::finish() { flush_log(); }

void verify(const Shared& shared, const std::vector<std::unique_ptr<EventLoop>>& loops) {
  EventLoop::Served total;
  for (const auto& loop : loops) {
    const EventLoop::Served& s = loop->served();
    total.requests += s.requests;
    total.connections += s.connections;
    total.wrong += s.wrong;
    total.users += s.users;
    total.logged.lines += s.logged.lines;
    total.logged.characters += s.logged.characters;
    for (std::size_t kind = 0; kind < s.of_kind.size(); ++kind) {
      total.of_kind[kind] += s.of_kind[kind];
      total.words[kind] += s.words[kind];
    }
  }
  expect_equal(total.wrong, 0, "the number of responses that did not arrive as they were sent");
  for (std::size_t kind = 0; kind < total.of_kind.size(); ++kind) {
    expect_equal(shared.counters[kind].requests, total.of_kind[kind],
                 "the counter of requests of kind " + std::to_string(kind));
    expect_equal(shared.counters[kind].words, total.words[kind],
                 "the counter of words of kind " + std::to_string(kind));
  }
  expect_equal(shared.next_connection.load(), total.connections, "the number of connections");
  expect_equal(shared.log.count().lines, total.logged.lines, "the number of lines of the access log");
  expect_equal(shared.log.count().characters, total.logged.characters,
               "the sum of the access log's characters");
  shared.files.verify(total.users);
}

}  // namespace rubato::workloads::web
