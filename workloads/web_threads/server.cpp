// SPDX-License-Identifier: MIT
#include "workloads/web_threads/server.hpp"

#include <cstdio>
#include <mutex>
#include <string>

#include "workloads/common/workload.hpp"

namespace rubato::workloads::web {

BufferPool::BufferPool(unsigned buffers) {
  for (unsigned i = 0; i < buffers; ++i) {
    buffers_.push_back(std::make_unique<Buffer>());
    give(buffers_.back().get());
  }
}

Buffer* BufferPool::take() {
  const std::lock_guard<Latch> guard(latch_);
  Buffer* buffer = first_;
  first_ = buffer->next;
  return buffer;
}

void BufferPool::give(Buffer* buffer) {
  const std::lock_guard<Latch> guard(latch_);
  buffer->next = first_;
  first_ = buffer;
}

Server::Server(const Clients& clients, unsigned directories, std::uint64_t cache_bytes, unsigned threads,
               std::uint64_t seed)
    : clients_(clients),
      site_(directories, seed),
      paths_(site_),
      files_(site_, cache_bytes),
      pages_(clients.templates, clients.users, seed + 1),
      log_(std::size_t{1} << 18),
      buffers_(threads),
      seed_(seed),
      scores_(threads),
      served_(threads) {
  for (Pending& pending : backlog_) pending = {mix64(seed_ + next_connection_++), 0, 0};
}

Server::Pending Server::accept() {
  const std::lock_guard<Latch> guard(accept_latch_);
  const std::uint64_t number = next_connection_++;
  Pending& slot = backlog_[number % backlog_.size()];
  const Pending accepted = slot;
  slot = {mix64(seed_ + number), static_cast<std::uint32_t>(mix64(number)),
          static_cast<std::uint32_t>(number)};
  return accepted;
}

void Server::serve(unsigned thread, std::uint64_t requests) {
  while (requests > 0) {
    const Pending connection = accept();
    ++served_[thread].connections;
    Rng rng(connection.seed);
    Buffer* buffer = buffers_.take();
    Response response(*buffer);
    RequestText text;
    bool goes_on = true;
    while (goes_on && requests > 0) {
      write_request(text, site_, clients_, rng);
      goes_on = answer(thread, text, response, connection.client);
      --requests;
    }
    buffers_.give(buffer);
  }
}

bool Server::answer(unsigned thread, const RequestText& text, Response& response, std::uint32_t client) {
  Served& served = served_[thread];
  Score& score = scores_[thread];
  score.state = 1;
  score.connection = client;
  Request request;
  unsigned status = 200;
  if (!parse_request({text.text.data(), text.size}, request)) status = 400;
  const unsigned file = status == 200 && !request.is_built ? paths_.find(request.path) : Site::kNotFound;
  if (status == 200 && !request.is_built && file == Site::kNotFound) status = 404;
  std::array<char, 192> line;
  const int size =
      std::snprintf(line.data(), line.size(), "HTTP/1.1 %u\r\nServer: threads\r\nConnection: %s\r\n\r\n",
                    status, request.keeps_alive ? "keep-alive" : "close");
  std::uint64_t sum = response.put_text({line.data(), static_cast<std::size_t>(size)});
  std::uint64_t words = (static_cast<std::uint64_t>(size) + 7) / 8;
  if (request.is_built) {
    score.state = 2;
    sum += pages_.build(request.page, request.user, response);
    ++served.built;
  } else if (status == 200) {
    score.state = 3;
    response.put(files_.acquire(file), site_.words(file));
    files_.release(file);
    sum += site_.check(file);
    words += site_.words(file);
  }
  const Response::Arrived arrived = response.end();
  if (arrived.sum != sum || (!request.is_built && arrived.words != words) || status != 200) ++served.wrong;
  score.state = 4;
  const int logged = std::snprintf(line.data(), line.size(), "%u.%u.%u.%u user%u \"GET %.*s\" %u %llu",
                                   client >> 24, client >> 16 & 255, client >> 8 & 255, client & 255,
                                   request.user, static_cast<int>(request.path.size()), request.path.data(),
                                   status, static_cast<unsigned long long>(8 * arrived.words));
  log_.append({line.data(), static_cast<std::size_t>(logged)}, served.logged);
  {
    const std::lock_guard<DataLatch> guard(counters_latch_);
    ++all_requests_;
    all_words_ += arrived.words;
  }
  ++served.requests;
  served.words += arrived.words;
  ++score.requests;
  score.state = 0;
  return request.keeps_alive;
}

Served Server::total() const {
  Served total;
  for (const Served& s : served_) {
    total.requests += s.requests;
    total.built += s.built;
    total.connections += s.connections;
    total.words += s.words;
    total.wrong += s.wrong;
    total.logged.lines += s.logged.lines;
    total.logged.characters += s.logged.characters;
  }
  return total;
}

void Server::verify() const {
  const Served total = this->total();
  expect_equal(total.wrong, 0, "the number of responses that did not arrive as they were sent");
  expect_equal(pages_.visits(), total.built, "the number of pages built by the users' records");
  expect_equal(paths_.uses(), total.requests - total.built, "the number of paths looked up");
  expect_equal(log_.count().lines, total.logged.lines, "the number of lines of the access log");
  expect_equal(log_.count().characters, total.logged.characters, "the sum of the access log's characters");
  expect_equal(all_requests_, total.requests, "the status page's number of requests");
  expect_equal(all_words_, total.words, "the status page's number of words");
  expect_equal(next_connection_ - backlog_.size(), total.connections, "the number of connections");
  files_.verify();
}

}  // namespace rubato::workloads::web
