// A build without libseccomp: privileges stay.
// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "cached/privileges/privileges.hpp"

namespace rubato::cached {

const char* missing_for_privileges() {
  return "this build has no libseccomp; install libseccomp-dev and build again, or use the sandbox of "
         "systemd";
}

void drop_privileges(const KeptPrivileges&) {
  throw UsageError("-o drop_privileges: {}", missing_for_privileges());
}

}  // namespace rubato::cached
