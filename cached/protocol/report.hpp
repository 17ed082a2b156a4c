// `stats` and its groups, under memcached's names; those of external storage and proxy are left out, ours
// follow.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cached/protocol/service.hpp"

namespace rubato::cached {

/// For `stats conns`.
struct ConnectionReport {
  int descriptor;
  std::string address, listens_on;  ///< `listens_on` is empty of a socket that listens itself
  std::string_view state;
  std::uint32_t idle;  ///< seconds since the last command
};

/// Figures of the server that the cache does not have.
struct ServerNumbers {
  std::uint64_t current = 0, total = 0, rejected = 0, disabled = 0, disabled_us = 0, juggles = 0, crawls = 0;
  std::uint64_t new_sessions = 0;      ///< of TLS
  std::uint32_t certificates_age = 0;  ///< seconds since they were read
  bool accepting = true, crawling = false, moving = false;
  const char* libevent = "";
  std::vector<const ThreadCounters*> threads;
  std::vector<const ThreadCounters*> own;  ///< of the discipline
  std::vector<ConnectionReport> connections;
};

/// False if there is no such group.
bool report_statistics(std::string_view group, Context& context, const ServerNumbers& numbers,
                       const StatSink& sink);

}  // namespace rubato::cached
