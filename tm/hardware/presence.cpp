// SPDX-License-Identifier: MIT
#include "tm/hardware/presence.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(RUBATO_TM_FAULTY)
#include <cstdlib>
#include <cstring>
#endif

namespace rubato::tm {
namespace {

CpuidLeaf7 ask_cpuid() {
  CpuidLeaf7 words;
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) words = {ebx, edx};
#endif
  return words;
}

}  // namespace

#if defined(RUBATO_TM_FAULTY)
bool is_software_preferred() {
  static const char* const value = std::getenv("RUBATO_TM_HARDWARE");
  return value != nullptr && std::strcmp(value, "software") == 0;
}
bool is_hardware_refused() {
  static const bool is_set = std::getenv("RUBATO_TM_HARDWARE") != nullptr;
  return is_set;
}
#endif

const char* why_absent() {
#if defined(RUBATO_TM_FAULTY)
  if (is_hardware_refused()) return nullptr;
#endif
  static const char* const reason = why_absent<Rtm>(ask_cpuid());
  return reason;
}

}  // namespace rubato::tm
