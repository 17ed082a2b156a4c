// A web server of threads: each takes a connection under the accept lock and serves it to its end.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "workloads/common/latch.hpp"
#include "workloads/web/access_log.hpp"
#include "workloads/web/pages.hpp"
#include "workloads/web/path_cache.hpp"
#include "workloads/web/request.hpp"
#include "workloads/web/response.hpp"
#include "workloads/web/site.hpp"
#include "workloads/web_threads/lru_cache.hpp"

namespace rubato::workloads::web {

/// Counts of one thread.
struct alignas(64) Served {
  std::uint64_t requests = 0, built = 0, connections = 0, words = 0, wrong = 0;
  LogCount logged;
};

/// Buffers of connections, handed on from thread to thread.
class BufferPool {
 public:
  explicit BufferPool(unsigned buffers);
  Buffer* take();
  void give(Buffer* buffer);

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
  alignas(64) Latch latch_;
  Buffer* first_ = nullptr;
};

class Server {
 public:
  Server(const Clients& clients, unsigned directories, std::uint64_t cache_bytes, unsigned threads,
         std::uint64_t seed);

  /// Serves connections until so many requests are answered.
  void serve(unsigned thread, std::uint64_t requests);
  /// @throws WrongResult
  void verify() const;
  [[nodiscard]] Served total() const;

 private:
  /// Status page's view of each thread: side by side, as such servers have it.
  struct Score {
    std::uint32_t state = 0, connection = 0;
    std::uint64_t requests = 0;
  };
  struct Pending {
    std::uint64_t seed = 0;
    std::uint32_t client = 0, port = 0;
  };
  Pending accept();
  /// @returns whether the client wants more
  bool answer(unsigned thread, const RequestText& text, Response& response, std::uint32_t client);

  Clients clients_;
  Site site_;
  PathCache paths_;
  LruCache files_;
  Pages pages_;
  AccessLog log_;
  BufferPool buffers_;
  std::uint64_t seed_;
  alignas(64) DataLatch counters_latch_;
  std::uint64_t all_requests_ = 0, all_words_ = 0;  ///< of the status page
  alignas(64) Latch accept_latch_;
  std::uint64_t next_connection_ = 0;
  std::array<Pending, 128> backlog_;  ///< connections that wait to be accepted
  std::vector<Score> scores_;
  std::vector<Served> served_;
};

}  // namespace rubato::workloads::web
