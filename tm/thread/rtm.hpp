// The instructions of hardware transactions, Intel's RTM, and what their status says (T45). After an
// abort the processor goes on behind begin() with all memory and registers as they were there.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::tm {

/// The result of begin() after an abort.
struct RtmStatus {
  static constexpr unsigned kStarted = ~0u;
  static constexpr unsigned kExplicit = 1, kConflict = 4, kCapacity = 8;
  static constexpr unsigned code(unsigned status) { return status >> 24; }
  static constexpr unsigned explicit_abort(unsigned code) { return kExplicit | code << 24; }
};

/// Why the library itself aborts one: the code of RtmStatus.
struct AbortCode {
  static constexpr unsigned kLocked =
                                0xff,  ///< the gate is closed, a writer is inside, or the algorithm changed
      kNeedsSoftware = 0xfe;           ///< what comes next cannot be undone, or not by hardware
};

#if defined(__x86_64__)
// By their bytes, since most of the library is compiled for processors that do not have them.
struct Rtm {
  [[gnu::always_inline]] static unsigned begin() {
    unsigned status = RtmStatus::kStarted;
    asm volatile(".byte 0xc7, 0xf8, 0, 0, 0, 0" : "+a"(status) : : "memory");
    return status;
  }
  [[gnu::always_inline]] static void commit() { asm volatile(".byte 0x0f, 0x01, 0xd5" : : : "memory"); }
  /// Inside a hardware transaction it does not return.
  template <unsigned code>
  [[gnu::always_inline]] static unsigned abort() {
    asm volatile(".byte 0xc6, 0xf8, %c0" : : "i"(code) : "memory");
    return RtmStatus::explicit_abort(code);
  }
};
#else
struct Rtm {
  static unsigned begin() { return 0; }
  static void commit() {}
  template <unsigned code>
  static unsigned abort() {
    return RtmStatus::explicit_abort(code);
  }
};
#endif

#if defined(RUBATO_TM_FAULTY)
/// RUBATO_TM_HARDWARE=software or alone: every hardware transaction is aborted, so that tests run what takes
/// its place.
bool is_hardware_refused();
bool is_software_preferred();
struct Hardware : Rtm {
  static unsigned begin() { return is_hardware_refused() ? RtmStatus::kConflict : Rtm::begin(); }
  static bool prefers_software() { return is_software_preferred(); }
};
#else
struct Hardware : Rtm {
  static constexpr bool prefers_software() { return false; }
};
#endif

}  // namespace rubato::tm
