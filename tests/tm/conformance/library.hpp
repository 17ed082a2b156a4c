// The library that a conformance program runs on. The same binary runs on GCC's and on ours (T67). A
// test that GCC's library is known to fail says so by SKIP_ON_GCC, with the reason that docs/transactions.md
// lists.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
const char* _ITM_libraryVersion() __attribute__((transaction_pure));
int _ITM_versionCompatible(int) __attribute__((transaction_pure));
int _ITM_inTransaction() __attribute__((transaction_pure));
std::uint64_t _ITM_getTransactionId() __attribute__((transaction_pure));
void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*) __attribute__((transaction_pure));
void _ITM_addUserUndoAction(void (*)(void*), void*) __attribute__((transaction_pure));
void _ITM_dropReferences(void*, std::size_t) __attribute__((transaction_pure));
}

/// True, but the compiler does not know.
extern bool is_true;

inline bool is_gcc_library() { return std::strstr(_ITM_libraryVersion(), "rubato") == nullptr; }

#define SKIP_ON_GCC(reason) \
  if (is_gcc_library()) GTEST_SKIP() << "GCC's libitm differs: " << (reason)
