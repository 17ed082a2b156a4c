// The part of the transactional ABI that librubato_tm is written with, and how a function gets its clone
// (T54). No hook of our own library is here: one binary runs on GCC's libitm and on librubato_itm.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
std::uint8_t _ITM_RU1(const std::uint8_t*);
std::uint64_t _ITM_RU8(const std::uint64_t*);
void _ITM_WU1(std::uint8_t*, std::uint8_t);
void _ITM_WU4(std::uint32_t*, std::uint32_t);
void _ITM_WU8(std::uint64_t*, std::uint64_t);
void _ITM_memcpyRtWn(void*, const void*, std::size_t);
void _ITM_memcpyRnWt(void*, const void*, std::size_t);
void _ITM_memcpyRtWt(void*, const void*, std::size_t);
void _ITM_memmoveRtWt(void*, const void*, std::size_t);
void _ITM_memsetW(void*, int, std::size_t);
void* _ITM_malloc(std::size_t);
void _ITM_free(void*);
int _ITM_inTransaction();
void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t transaction, void*);
void _ITM_addUserUndoAction(void (*)(void*), void*);
}

namespace rubato::tm::library {

inline constexpr std::uint64_t kNoTransaction = 1;  // an action of the outermost one

}  // namespace rubato::tm::library

// Declares clone_of_NAME, which the compiler calls in transactions for NAME by the name of a clone: _ZGTt,
// length, NAME. The pair stands in the object's clone table as well, for calls through pointers.
#define RUBATO_TM_CLONE(length, name)                                               \
  static_assert(sizeof(#name) - 1 == (length), "the length of the name");           \
  extern "C" decltype(name) clone_of_##name __asm__("_ZGTt" #length #name);         \
  [[gnu::used, gnu::section(".tm_clone_table")]] static void* pair_of_##name[2] = { \
      reinterpret_cast<void*>(&name), reinterpret_cast<void*>(&clone_of_##name)}
