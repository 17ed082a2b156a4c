// Settings of the server at start (T80, T81), and the few that commands change later.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cached/core/engine.hpp"
#include "cached/tls/tls.hpp"

namespace rubato::cached {

enum class Binding : std::uint8_t { automatic, ascii, binary };

struct Settings {
  // Network
  int port = 11211;
  std::vector<std::string> addresses;
  std::string inter;  ///< as it was given
  std::string socket;
  unsigned socket_mask = 0700;
  int max_connections = 1024, backlog = 1024;
  bool maxconns_fast = true;
  unsigned idle_timeout = 0;
  int requests_per_event = 20;
  Binding binding = Binding::automatic;
  bool binding_is_given = false;
  TlsSettings tls;
  // Process
  unsigned threads = 4;
  bool daemon = false, core_dumps = false, lock_memory = false;
  std::string user, pid_file, auth_file;
  std::atomic<int> verbosity{0};
  // Cache
  std::string memory_file;  ///< where items outlive a graceful stop; empty: nowhere
  std::size_t max_bytes = std::size_t{64} << 20;
  bool evict = true, cas = true, preallocate = false;
  double factor = 1.25;
  std::size_t chunk_size = 48, item_size_max = 1 << 20, slab_chunk_max = kPageSize / 2;
  std::vector<std::size_t> slab_sizes;
  std::size_t item_copy_max = 1024;
  unsigned hash_power = 0;
  bool may_expand = true;
  std::string hash = "murmur3", discipline = "locks";
  // Upkeep
  bool lru_crawler = true, lru_maintainer = true, slab_reassign = true;
  std::atomic<unsigned> automove{1};
  std::atomic<double> automove_ratio{0.8};
  double automove_freeratio = 0.01;
  unsigned automove_window = 30, tail_repair = 0;
  std::atomic<unsigned> crawler_sleep{100}, crawler_to_crawl{0};
  LruTuning lru;
  // Permissions
  bool debug_time = false;  ///< the command debugtime, for tests
  bool misbehave = false;   ///< the command misbehave, for tests
  bool drop_privileges = false;
  bool sasl = false;  ///< clients log in by SASL, with users of auth_file
  bool shutdown_command = false, flush = true, dump = true, watch = true;
  char prefix_delimiter = ':';
  std::atomic<bool> detail{false};
  bool track_sizes = false;
  std::string metrics;  ///< address of the Prometheus page, empty: none
  std::size_t watcher_log = 262144, worker_log = 65536, read_buffer_limit = 0;
  bool inline_ascii = false;

  EngineOptions engine() const;
};

/// The next step of main after the options were read.
enum class Start : std::uint8_t { serve, done, refused };

/// Reads the command line. Prints help, version or one sentence about what is wrong; `refused` means exit
/// code 64.
Start read_options(int argc, char** argv, Settings& settings);

/// The version of memcached, whose place the server takes, with a suffix without numbers: clients read the
/// last three of them.
const char* version_text();
/// The version of rubato-cached itself.
const char* own_version();

}  // namespace rubato::cached
