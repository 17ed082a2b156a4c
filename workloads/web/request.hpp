// Requests as text: as clients send them, and as the server reads them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/rng.hpp"
#include "workloads/web/site.hpp"

namespace rubato::workloads::web {

/// The clients and the requests that they make.
struct Clients {
  unsigned users = 4096;
  unsigned templates = 48;
  unsigned built = 30;  ///< percent of requests that are for a page that is built
};

struct RequestText {
  std::array<char, 512> text;
  unsigned size = 0;
};

/// Writes the next request of a client.
void write_request(RequestText& to, const Site& site, const Clients& clients, Rng& rng);

struct Request {
  std::string_view path;  ///< without the query
  unsigned page = 0;      ///< number of a template, if is_built
  unsigned user = 0;      ///< of the cookie
  bool is_built = false;  ///< "/page/N"
  bool keeps_alive = false;
  unsigned headers = 0;
};

/// @returns false if it is no request
bool parse_request(std::string_view text, Request& to);

}  // namespace rubato::workloads::web
