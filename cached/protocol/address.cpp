// SPDX-License-Identifier: MIT
#include "cached/protocol/address.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/un.h>

#include <cstddef>

namespace rubato::cached {

namespace {
std::string unix_text(const sockaddr_storage& address, socklen_t length) {
  // The client's end of such a socket has no name, which memcached shows so.
  if (length <= offsetof(sockaddr_un, sun_path)) return fmt::format("unix:<AF {}>", AF_UNIX);
  return fmt::format("unix:{}", reinterpret_cast<const sockaddr_un&>(address).sun_path);
}

template <class Ask>
std::string asked(int descriptor, Ask ask) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (ask(descriptor, reinterpret_cast<sockaddr*>(&address), &length)) return "<closed>";
  return address_text(address, length);
}
}  // namespace

std::string address_text(const sockaddr_storage& address, socklen_t length) {
  if (address.ss_family == AF_UNIX) return unix_text(address, length);
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return address.ss_family == AF_INET6 ? fmt::format("tcp6:[{}]:{}", host, port)
                                       : fmt::format("tcp:{}:{}", host, port);
}

Endpoint client_endpoint(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  Endpoint client;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &length)) return client;
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return client;
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "0";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port, false};
}

std::string own_address(int descriptor) {
  return asked(descriptor, [](int d, sockaddr* a, socklen_t* n) { return ::getsockname(d, a, n); });
}
std::string client_address(int descriptor) {
  return asked(descriptor, [](int d, sockaddr* a, socklen_t* n) { return ::getpeername(d, a, n); });
}

}  // namespace rubato::cached
