// The table of handlers agrees with the table of names.
// SPDX-License-Identifier: MIT
#include "chip/os/syscall_names.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

TEST(SyscallNames, EveryHandlerHasTheNameOfItsNumber) {
#define RUBATO_SYSCALL(number, name) EXPECT_EQ(syscall_name(number), #name);
#include "chip/os/syscalls.inc"
#undef RUBATO_SYSCALL
}

TEST(SyscallNames, UnknownNumbersAreShown) { EXPECT_EQ(syscall_name(99999), "#99999"); }

}  // namespace
}  // namespace rubato::chip
