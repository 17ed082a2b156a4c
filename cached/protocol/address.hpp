// Addresses of sockets as statistics show them: tcp:127.0.0.1:11211, tcp6:[::1]:11211, unix:/run/socket.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <string>

namespace rubato::cached {

struct Endpoint {
  std::string host = "unix";
  std::string port = "0";
  bool is_local = true;
};
Endpoint client_endpoint(int descriptor);

std::string address_text(const sockaddr_storage& address, socklen_t length);
/// The address of a descriptor's own end, or its client's.
std::string own_address(int descriptor);
std::string client_address(int descriptor);

}  // namespace rubato::cached
