// Numbers and characters (T55): libc reads a private copy of the string. errno is libc's.
// SPDX-License-Identifier: MIT
#include <arpa/inet.h>

#include <cctype>
#include <cstdlib>

#include "rubato/tm/library.h"
#include "tm/library/itm.hpp"
#include "tm/library/text.hpp"

namespace rubato::tm::library {
namespace {

/// read(copy, end of what was read)
template <class F>
auto parse(const char* s, char** end, const F& read) {
  Text text(s);
  char* private_end = nullptr;
  const auto value = read(text.c_str(), &private_end);
  if (end != nullptr) {
    const auto read_bytes = static_cast<std::uintptr_t>(private_end - text.c_str());
    _ITM_WU8(reinterpret_cast<std::uint64_t*>(end), reinterpret_cast<std::uintptr_t>(s) + read_bytes);
  }
  return value;
}

}  // namespace
}  // namespace rubato::tm::library

using namespace rubato::tm::library;

long tm_strtol(const char* s, char** end, int base) { return std::strtol(s, end, base); }
RUBATO_TM_CLONE(9, tm_strtol);
long clone_of_tm_strtol(const char* s, char** end, int base) {
  return parse(s, end, [base](const char* text, char** to) { return std::strtol(text, to, base); });
}

unsigned long tm_strtoul(const char* s, char** end, int base) { return std::strtoul(s, end, base); }
RUBATO_TM_CLONE(10, tm_strtoul);
unsigned long clone_of_tm_strtoul(const char* s, char** end, int base) {
  return parse(s, end, [base](const char* text, char** to) { return std::strtoul(text, to, base); });
}

long long tm_strtoll(const char* s, char** end, int base) { return std::strtoll(s, end, base); }
RUBATO_TM_CLONE(10, tm_strtoll);
long long clone_of_tm_strtoll(const char* s, char** end, int base) {
  return parse(s, end, [base](const char* text, char** to) { return std::strtoll(text, to, base); });
}

unsigned long long tm_strtoull(const char* s, char** end, int base) { return std::strtoull(s, end, base); }
RUBATO_TM_CLONE(11, tm_strtoull);
unsigned long long clone_of_tm_strtoull(const char* s, char** end, int base) {
  return parse(s, end, [base](const char* text, char** to) { return std::strtoull(text, to, base); });
}

double tm_strtod(const char* s, char** end) { return std::strtod(s, end); }
RUBATO_TM_CLONE(9, tm_strtod);
double clone_of_tm_strtod(const char* s, char** end) {
  return parse(s, end, [](const char* text, char** to) { return std::strtod(text, to); });
}

int tm_atoi(const char* s) { return std::atoi(s); }
RUBATO_TM_CLONE(7, tm_atoi);
int clone_of_tm_atoi(const char* s) { return std::atoi(Text(s).c_str()); }

int tm_isspace(int c) { return std::isspace(c); }
int tm_isdigit(int c) { return std::isdigit(c); }
int tm_tolower(int c) { return std::tolower(c); }
std::uint16_t tm_htons(std::uint16_t x) { return htons(x); }
std::uint32_t tm_htonl(std::uint32_t x) { return htonl(x); }
std::uint16_t tm_ntohs(std::uint16_t x) { return ntohs(x); }
std::uint32_t tm_ntohl(std::uint32_t x) { return ntohl(x); }
