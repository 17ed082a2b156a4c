// Privileges of the process: after the start it may give up the system calls that serving does not need
// (T101). A call that is not allowed any more ends the process.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::cached {

/// A sentence about what this build lacks to drop privileges, with the remedy; null: it can.
const char* missing_for_privileges();

/// Privileges that some options need, beside those that every server needs.
struct KeptPrivileges {
  bool reads_files = false;    ///< users (-Y) and certificates (-Z) are read again
  bool removes_files = false;  ///< at the end: the socket (-s), the file of -P
  bool keeps_items = false;    ///< at the end: the file of -e, which is open, becomes whole
};

/// All threads lose them, and so do threads that they start from now on. The threads that serve must have
/// started. A thread that blocks SIGSYS would end without a sentence. Errors: Error with exit code 71.
void drop_privileges(const KeptPrivileges& kept);

/// For tests: opens a socket and runs a program, neither of which a server does. Whether one of them was
/// possible.
bool misbehave();

}  // namespace rubato::cached
