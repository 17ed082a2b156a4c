// A build without libseccomp: privileges stay.
// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "cached/privileges/privileges.hpp"

namespace rubato::cached {

bool privileges_are_droppable() { return false; }

void require_droppable_privileges() {
  throw UsageError(
      "-o drop_privileges: this build has no libseccomp; install libseccomp-dev and build again, or use the "
      "sandbox of systemd");
}

void drop_privileges(const KeptPrivileges&) { require_droppable_privileges(); }

}  // namespace rubato::cached
