// SPDX-License-Identifier: MIT
#include "cached/net/metrics.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cached/protocol/numbers.hpp"

namespace rubato::cached {

namespace {
/// Figures of `stats` that may fall; all others only grow.
constexpr std::string_view kGauges[] = {"uptime",
                                        "pointer_size",
                                        "max_connections",
                                        "curr_connections",
                                        "connection_structures",
                                        "reserved_fds",
                                        "response_obj_count",
                                        "response_obj_bytes",
                                        "read_buf_count",
                                        "read_buf_bytes",
                                        "limit_maxbytes",
                                        "accepting_conns",
                                        "read_buf_bytes_free",
                                        "threads",
                                        "hash_power_level",
                                        "hash_bytes",
                                        "hash_is_expanding",
                                        "log_watchers",
                                        "slab_reassign_running",
                                        "lru_crawler_running",
                                        "curr_items",
                                        "bytes",
                                        "slab_global_page_pool"};
}  // namespace

std::string metrics_page(Service& service) {
  std::string page;
  service.report("", [&](std::string_view name, std::string_view value) {
    double number;
    if (name == "time" || name == "pid" || !to_number(value, number)) return;
    const bool is_gauge = std::find(std::begin(kGauges), std::end(kGauges), name) != std::end(kGauges);
    page += fmt::format("# TYPE rubato_cached_{0} {1}\nrubato_cached_{0} {2}\n", name,
                        is_gauge ? "gauge" : "counter", value);
  });
  return page;
}

void answer_metrics(int descriptor, Service& service) {
  // The request is short and its content does not matter; a client that sends none is not waited for long.
  pollfd wait{descriptor, POLLIN, 0};
  char request[4096];
  if (::poll(&wait, 1, 200) == 1) [[maybe_unused]]
    const ssize_t got = ::recv(descriptor, request, sizeof request, 0);
  const std::string page = metrics_page(service);
  const std::string answer = fmt::format(
      "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\r\n{}",
      page.size(), page);
  [[maybe_unused]] const ssize_t sent = ::send(descriptor, answer.data(), answer.size(), MSG_NOSIGNAL);
  ::shutdown(descriptor, SHUT_WR);
  ::close(descriptor);
}

}  // namespace rubato::cached
