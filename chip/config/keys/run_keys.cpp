// Keys of energy and of the run itself: energy and run.
// SPDX-License-Identifier: MIT
#include "chip/config/keys/declare.hpp"
#include "chip/config/keys/groups.hpp"

namespace rubato::chip {

void add_energy_keys(std::vector<Key>& k) {
  k.push_back(number("energy.sram_pj", RUBATO_MEMBER(energy.sram_pj), "pJ", 0, 1e6,
                     "Energy of 64 bits read from an SRAM array of 1 KiB; it grows with the square root of "
                     "capacity and of wider rows, and a write takes 1.1 times as much.",
                     "Horowitz, ISSCC 2014"));
  k.push_back(number("energy.flit_hop_pj", RUBATO_MEMBER(energy.flit_hop_pj), "pJ", 0, 1e6,
                     "Energy of 16 bytes through a router and over a link; other flits by their bytes.",
                     kOurs));
  k.push_back(number("energy.leakage_mw_per_mib", RUBATO_MEMBER(energy.leakage_mw_per_mib), "mW/MiB", 0, 1e6,
                     "Power that SRAM takes whatever it does.", kOurs));
  k.push_back(number("energy.memory_nj", RUBATO_MEMBER(energy.memory_nj), "nJ", 0, 1e6,
                     "Energy of a line read from memory or written to it, which is no part of the chip's.",
                     kOurs));
}

void add_run_keys(std::vector<Key>& k) {
  k.push_back(number("run.max_cycles", RUBATO_MEMBER(run.max_cycles), "cycles", 0, kAnyCount,
                     "Cycles after which a run ends with exit code 4; 0: no limit.", kOurs));
  k.push_back(number("run.instructions", RUBATO_MEMBER(run.instructions), "instructions", 0, kAnyCount,
                     "Instructions in detail after which a run ends, when each program has executed them; 0: "
                     "no limit.",
                     kOurs));
  k.push_back(number(
      "run.lookahead_cycles", RUBATO_MEMBER(run.lookahead_cycles), "cycles", 0, 1024,
      "Cycles a core may run ahead of the clock on register work and L1 hits; 0: strict order.", kOurs));
  k.push_back(plain("run.warm", RUBATO_MEMBER(run.warm), "Fast-forward warms L2 caches, LLC and directories.",
                    kOurs));
  k.push_back(plain("run.fast_forward", RUBATO_MEMBER(run.fast_forward),
                    "Instructions outside the region of interest run without time; false: all run in detail.",
                    kOurs));
  k.push_back(plain(
      "run.roi", RUBATO_MEMBER(run.roi),
      "Symbol whose execution is the region of interest; @markers: the regions that the program "
      "marks (rubato/markers.h); @none: nothing, all but tasks runs without time; empty: rubato::run(), "
      "or main without it.",
      kOurs));
  k.push_back(number("run.quantum", RUBATO_MEMBER(run.quantum), "instructions", 1, 1e9,
                     "Instructions a thread runs at a time in fast-forward.", kOurs));
  k.push_back(number("run.time_slice", RUBATO_MEMBER(run.time_slice), "cycles", 100, 1e12,
                     "Cycles a thread runs at a time when threads outnumber cores.", kOurs));
  k.push_back(number("run.profile_cycles", RUBATO_MEMBER(run.profile_cycles), "cycles", 0, 1e12,
                     "Cycles between two samples of where every core is, which change no result; 0: none.",
                     kOurs));
  k.push_back(
      choice("run.contention", RUBATO_MEMBER(run.contention), {"auto", "true", "false"},
             "Watch the lines that cores take from one another, and the loops in which they wait: a table "
             "of contended lines for reports. It changes no result. auto: one program of threads on several "
             "cores in order, without run.check_replay.",
             kOurs));
  k.push_back(
      number("run.start_date", RUBATO_MEMBER(run.start_date), "seconds", 0, 4e9,
             "Date at which the program's clock begins, since 1970: 2024-01-01. Younger files lie in its "
             "future.",
             kOurs));
  k.push_back(number("run.stack_bytes", RUBATO_MEMBER(run.stack_bytes), "bytes", 64 * kKiB, 16 * kGiB,
                     "Stack of the main thread: a part of run.memory_bytes, and at most a sixteenth of the "
                     "address space.",
                     kOurs));
  k.push_back(number("run.memory_bytes", RUBATO_MEMBER(run.memory_bytes), "bytes", 16 * kMiB, 256 * kGiB,
                     "Memory of the program; what it asks for beyond is refused (ENOMEM). So is what would "
                     "take the simulator "
                     "beyond the host's memory (or its control group's), less an eighth, at least 512 MiB.",
                     kOurs));
  k.push_back(
      number("run.address_bits", RUBATO_MEMBER(run.address_bits), "bits", 32, 38,
             "The program's address space has 2^this bytes, which the simulator reserves. A host that cannot "
             "(valgrind) needs fewer: 35. Stack and mappings then lie lower.",
             kOurs));
  k.push_back(
      plain("run.check_replay", RUBATO_MEMBER(run.check_replay),
            "Replay committed tasks serially in their order and compare every load, every creation and the "
            "final memory (slow).",
            kOurs));
  k.push_back(plain("run.check_ties", RUBATO_MEMBER(run.check_ties),
                    "End the run where two tasks touch one word, one of them writes, and neither timestamps, "
                    "creation, locales nor synchronization order them (slow; 2 cores or more).",
                    kOurs));
  k.push_back(plain("run.check_capsules", RUBATO_MEMBER(run.check_capsules),
                    "Look at every instruction of capsules for what they must not do: use their own writable "
                    "data, tp, or read back what they stored in tracked memory (slow).",
                    kOurs));
  k.push_back(
      choice("run.alloc", RUBATO_MEMBER(run.alloc), {"guest", "ideal"},
             "Memory allocation: the program's own functions (malloc, free, operator new, ...), or (study) "
             "pools of each core in the simulator, which take no cycles and no part in conflicts.",
             kOurs));
}

}  // namespace rubato::chip
