// A web server of event loops: each core has connections of its own and goes on with one at a time, a request
// or a buffer of its answer.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "workloads/common/latch.hpp"
#include "workloads/web/access_log.hpp"
#include "workloads/web/pages.hpp"
#include "workloads/web/path_cache.hpp"
#include "workloads/web/request.hpp"
#include "workloads/web/response.hpp"
#include "workloads/web/site.hpp"
#include "workloads/web_events/clock_cache.hpp"

namespace rubato::workloads::web {

/// State that all loops share.
struct Shared {
  Shared(const Clients& c, unsigned directories, std::uint64_t cache_bytes, std::uint64_t the_seed);

  Clients clients;
  std::uint64_t seed;
  Site site;
  PathCache paths;
  ClockCache files;
  Pages pages;
  AccessLog log;
  /// The server's counters: an entry for each class of files, and one for pages that are built.
  struct alignas(64) Counter {
    DataLatch latch;
    std::uint64_t requests = 0, words = 0;
  };
  std::array<Counter, Site::kClasses + 1> counters;
  alignas(64) std::atomic<std::uint64_t> next_connection{0};
};

class EventLoop {
 public:
  EventLoop(Shared& shared, unsigned connections, std::uint64_t seed);
  /// Handles events until so many requests are answered.
  void run(std::uint64_t requests);

  struct Served {
    std::uint64_t requests = 0, connections = 0, wrong = 0, users = 0;  // users: of cached files, now
    std::array<std::uint64_t, Site::kClasses + 1> of_kind{}, words{};
    LogCount logged;
  };
  /// Hands the last lines to the access log.
  void finish();
  [[nodiscard]] const Served& served() const { return served_; }

 private:
  enum class State : std::uint8_t { waits, sends };
  struct Connection {
    Rng rng{0};
    State state = State::waits;
    bool keeps_alive = false;
    unsigned file = 0, kind = 0, user = 0;
    const std::uint64_t* content = nullptr;  ///< what is still to be sent
    std::uint64_t left = 0, sum = 0;
    RequestText text;
    Buffer buffer;
    Response response{buffer};
  };
  void accept(Connection& c);
  void read(Connection& c);
  /// @returns whether all is sent
  bool send(Connection& c);
  void answered(Connection& c);
  void flush_log();

  Shared& shared_;
  Rng rng_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::string lines_;
  Served served_;
};

/// @throws WrongResult
void verify(const Shared& shared, const std::vector<std::unique_ptr<EventLoop>>& loops);

}  // namespace rubato::workloads::web
