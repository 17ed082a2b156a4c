// Memory and strings (T55).
// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rubato/tm/library.h"
#include "tm/library/itm.hpp"
#include "tm/library/text.hpp"

namespace rubato::tm::library {
namespace {

/// As strncmp, or, if zeros do not end it, as memcmp.
int compare(const void* a, const void* b, std::size_t n, bool ends_at_zero) {
  if (n == 0) return 0;
  Bytes left(a), right(b);
  for (; n > 0; --n) {
    const int x = left.next(), y = right.next();
    if (x != y) return x - y;
    if (x == 0 && ends_at_zero) return 0;
  }
  return 0;
}

template <class T>
T* at(const T* p, std::size_t offset) {
  return const_cast<T*>(p) + offset;
}

}  // namespace
}  // namespace rubato::tm::library

using namespace rubato::tm::library;

int tm_memcmp(const void* a, const void* b, std::size_t n) { return std::memcmp(a, b, n); }
RUBATO_TM_CLONE(9, tm_memcmp);
int clone_of_tm_memcmp(const void* a, const void* b, std::size_t n) { return compare(a, b, n, false); }

void* tm_memchr(const void* p, int c, std::size_t n) { return const_cast<void*>(std::memchr(p, c, n)); }
RUBATO_TM_CLONE(9, tm_memchr);
void* clone_of_tm_memchr(const void* p, int c, std::size_t n) {
  if (n == 0) return nullptr;
  Bytes bytes(p);
  for (std::size_t i = 0; i < n; ++i) {
    if (bytes.next() == static_cast<unsigned char>(c)) return at(static_cast<const char*>(p), i);
  }
  return nullptr;
}

void* tm_memcpy(void* to, const void* from, std::size_t n) { return std::memcpy(to, from, n); }
RUBATO_TM_CLONE(9, tm_memcpy);
void* clone_of_tm_memcpy(void* to, const void* from, std::size_t n) {
  if (n > 0) _ITM_memcpyRtWt(to, from, n);
  return to;
}

void* tm_memmove(void* to, const void* from, std::size_t n) { return std::memmove(to, from, n); }
RUBATO_TM_CLONE(10, tm_memmove);
void* clone_of_tm_memmove(void* to, const void* from, std::size_t n) {
  if (n > 0) _ITM_memmoveRtWt(to, from, n);
  return to;
}

void* tm_memset(void* p, int c, std::size_t n) { return std::memset(p, c, n); }
RUBATO_TM_CLONE(9, tm_memset);
void* clone_of_tm_memset(void* p, int c, std::size_t n) {
  if (n > 0) _ITM_memsetW(p, c, n);
  return p;
}

std::size_t tm_strlen(const char* s) { return std::strlen(s); }
RUBATO_TM_CLONE(9, tm_strlen);
std::size_t clone_of_tm_strlen(const char* s) { return length_of(s); }

std::size_t tm_strnlen(const char* s, std::size_t n) { return ::strnlen(s, n); }
RUBATO_TM_CLONE(10, tm_strnlen);
std::size_t clone_of_tm_strnlen(const char* s, std::size_t n) { return length_of(s, n); }

int tm_strcmp(const char* a, const char* b) { return std::strcmp(a, b); }
RUBATO_TM_CLONE(9, tm_strcmp);
int clone_of_tm_strcmp(const char* a, const char* b) { return compare(a, b, kUnbounded, true); }

int tm_strncmp(const char* a, const char* b, std::size_t n) { return std::strncmp(a, b, n); }
RUBATO_TM_CLONE(10, tm_strncmp);
int clone_of_tm_strncmp(const char* a, const char* b, std::size_t n) { return compare(a, b, n, true); }

char* tm_strchr(const char* s, int c) { return const_cast<char*>(std::strchr(s, c)); }
RUBATO_TM_CLONE(9, tm_strchr);
char* clone_of_tm_strchr(const char* s, int c) {
  Bytes bytes(s);
  for (std::size_t i = 0;; ++i) {
    const std::uint8_t byte = bytes.next();
    if (byte == static_cast<unsigned char>(c)) return at(s, i);
    if (byte == 0) return nullptr;
  }
}

char* tm_strncpy(char* to, const char* from, std::size_t n) { return ::strncpy(to, from, n); }
RUBATO_TM_CLONE(10, tm_strncpy);
char* clone_of_tm_strncpy(char* to, const char* from, std::size_t n) {
  const std::size_t length = length_of(from, n);
  if (length > 0) _ITM_memcpyRtWt(to, from, length);
  if (length < n) _ITM_memsetW(to + length, 0, n - length);
  return to;
}

char* tm_strncat(char* to, const char* from, std::size_t n) { return ::strncat(to, from, n); }
RUBATO_TM_CLONE(10, tm_strncat);
char* clone_of_tm_strncat(char* to, const char* from, std::size_t n) {
  char* const end = to + length_of(to);
  const std::size_t length = length_of(from, n);
  if (length > 0) _ITM_memcpyRtWt(end, from, length);
  _ITM_WU1(reinterpret_cast<std::uint8_t*>(end + length), 0);
  return to;
}

void* tm_realloc(void* p, std::size_t n) { return std::realloc(p, n); }
RUBATO_TM_CLONE(10, tm_realloc);
void* clone_of_tm_realloc(void* p, std::size_t n) {
  if (p == nullptr) return _ITM_malloc(n);
  void* const more = n == 0 ? nullptr : _ITM_malloc(n);
  if (more != nullptr) _ITM_memcpyRtWt(more, p, std::min(n, ::malloc_usable_size(p)));
  if (more != nullptr || n == 0) _ITM_free(p);
  return more;
}
