/* Marks of regions, for C and C++. On the simulated chip each name gets statistics of its own (stats.json,
   reports, `run.regions` in Python). Regions may be entered again, and may overlap; their statistics add up
   what happens on the whole chip while they are open. `rubato run --roi @markers` simulates them in detail,
   and nothing else but run(). Everywhere else a mark does nothing: on Linux it is a system call that does not
   exist. */
/* SPDX-License-Identifier: MIT */
#ifndef RUBATO_MARKERS_H
#define RUBATO_MARKERS_H

#if defined(__riscv)
/** The system call's number, of those that Linux leaves to architectures: a0 is 0 at the beginning and 1 at
   the end, a1 the name. */
#define RUBATO_MARK_CALL 250

/** For what follows. */
static inline long rubato_mark(long end, const char* name) {
  register long a0 __asm__("a0") = end;
  register const char* a1 __asm__("a1") = name;
  register long a7 __asm__("a7") = RUBATO_MARK_CALL;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a7) : "memory");
  return a0;
}
#endif

/** Begins the region `name`: at most 63 bytes. Ends the simulation with a sentence if it has begun and not
 * ended. */
static inline void rubato_region_begin(const char* name) {
#if defined(__riscv)
  rubato_mark(0, name);
#else
  (void)name;
#endif
}

/** Ends the region `name`. Ends the simulation with a sentence if it has not begun. */
static inline void rubato_region_end(const char* name) {
#if defined(__riscv)
  rubato_mark(1, name);
#else
  (void)name;
#endif
}

#ifdef __cplusplus
namespace rubato {
inline namespace v0 {

/// A region from the construction of this to its destruction.
class MarkedRegion {
 public:
  explicit MarkedRegion(const char* name) : name_(name) { rubato_region_begin(name_); }
  ~MarkedRegion() { rubato_region_end(name_); }
  MarkedRegion(const MarkedRegion&) = delete;
  MarkedRegion& operator=(const MarkedRegion&) = delete;

 private:
  const char* name_;
};

}  // namespace v0
}  // namespace rubato
#endif
#endif
