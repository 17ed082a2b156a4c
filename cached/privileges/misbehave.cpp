// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "cached/privileges/privileges.hpp"

namespace rubato::cached {

bool misbehave() {
  bool is_possible = false;
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor >= 0) {
    is_possible = true;
    ::close(descriptor);
  }
  if (std::system("exit 0") == 0) is_possible = true;
  return is_possible;
}

}  // namespace rubato::cached
