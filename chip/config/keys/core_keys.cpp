// Keys of the chip as a whole and of its cores: chip and core.
// SPDX-License-Identifier: MIT
#include "chip/config/core_models.hpp"
#include "chip/config/keys/declare.hpp"
#include "chip/config/keys/groups.hpp"

namespace rubato::chip {

void add_chip_keys(std::vector<Key>& k) {
  k.push_back(
      number("chip.cores", RUBATO_MEMBER(chip.cores), "cores", 1, 1024, "Cores of the chip.", kTable));
  k.push_back(
      automatic(number("chip.cores_per_tile", RUBATO_MEMBER(chip.cores_per_tile), "cores", 1, 8,
                       "Cores that share a tile's L2 cache, LLC slice, router and task unit; must divide "
                       "chip.cores; auto: the largest of 4, 2 and 1 that does.",
                       kTable)));
  k.push_back(
      automatic(number("chip.mesh_width", RUBATO_MEMBER(chip.mesh_width), "tiles", 1, 1024,
                       "Tiles in a row of the mesh; auto: the most square rectangle of all tiles.", kTable)));
  k.push_back(automatic(number("chip.mesh_height", RUBATO_MEMBER(chip.mesh_height), "tiles", 1, 1024,
                               "Tiles in a column of the mesh; auto: the most square rectangle of all tiles.",
                               kTable)));
  k.push_back(number("chip.frequency_mhz", RUBATO_MEMBER(chip.frequency_mhz), "MHz", 1, 100000,
                     "Clock of cores, caches and network: turns cycles into simulated seconds.", kTable));
  k.push_back(number("chip.seed", RUBATO_MEMBER(chip.seed), "", 0, kAnyCount,
                     "Seed of task placement, tie-breaking, the guest's random numbers and chip.perturb.",
                     kOurs));
  k.push_back(number(
      "chip.perturb", RUBATO_MEMBER(chip.perturb), "cycles", 0, 1000,
      "Every line read from memory takes 0 to so many cycles more, drawn by chip.seed, so that seeds are "
      "samples of time; rubato sweep sets 3 where a plan has several seeds.",
      kOurs));
}

void add_core_keys(std::vector<Key>& k) {
#define NAME(name) #name,
  k.push_back(choice("core.model", RUBATO_MEMBER(core.model), {RUBATO_CORE_MODELS(NAME)},
                     "Core model: single-issue, in-order, scoreboarded with stall on use; or with a reorder "
                     "buffer and several instructions a cycle.",
                     kTable));
#undef NAME
  k.push_back(number("core.width", RUBATO_MEMBER(core.width), "instructions", 1, 16,
                     "Of core.model=window: instructions dispatched, and committed, a cycle.", kOurs));
  k.push_back(number("core.rob", RUBATO_MEMBER(core.rob), "entries", 1, 1024,
                     "Of core.model=window: entries of the reorder buffer.", kOurs));
  k.push_back(number("core.int_ports", RUBATO_MEMBER(core.int_ports), "instructions", 1, 16,
                     "Of core.model=window: integer instructions, branches and jumps issued a cycle.",
                     kOurs));
  k.push_back(number("core.fp_ports", RUBATO_MEMBER(core.fp_ports), "instructions", 1, 16,
                     "Of core.model=window: floating-point instructions issued a cycle.", kOurs));
  k.push_back(number("core.mem_ports", RUBATO_MEMBER(core.mem_ports), "instructions", 1, 16,
                     "Of core.model=window: loads and stores issued a cycle.", kOurs));
  k.push_back(
      number("core.int_dividers", RUBATO_MEMBER(core.int_dividers), "units", 0, 16,
             "Of core.model=window: integer dividers, each busy for the latency of a division; 0: every "
             "integer port divides, pipelined.",
             kOurs));
  k.push_back(
      number("core.fp_dividers", RUBATO_MEMBER(core.fp_dividers), "units", 0, 16,
             "Of core.model=window: units for floating-point quotients and square roots, each busy for "
             "the latency of one; 0: every floating-point port has one, pipelined.",
             kOurs));
  k.push_back(number("core.load_buffer", RUBATO_MEMBER(core.load_buffer), "entries", 1, 256,
                     "Loads in flight before the core stalls; of core.model=window the load queue.", kTable));
  k.push_back(number("core.store_buffer", RUBATO_MEMBER(core.store_buffer), "entries", 1, 256,
                     "Stores in flight before the core stalls; of core.model=window the store queue.",
                     kTable));
  k.push_back(plain("core.defers", RUBATO_MEMBER(core.defers),
                    "Under a protocol by messages cores go on past a miss until they need what it brings.",
                    kOurs));
  k.push_back(number("core.mispredict", RUBATO_MEMBER(core.mispredict), "cycles", 0, 100,
                     "Cycles lost on a mispredicted branch or jump.", kTable));
  k.push_back(number("core.syscall", RUBATO_MEMBER(core.syscall), "cycles", 1, 1000000,
                     "Cycles that a system call takes; the operating system is not modelled.", kOurs));
  const auto latency = [&](std::string_view name, Member (*member)(Config&), std::string_view what) {
    k.push_back(number(name, member, "cycles", 1, 1000, what, kOurs));
  };
  latency("core.int_alu", RUBATO_MEMBER(core.int_alu),
          "Cycles until the result of integer arithmetic can be used.");
  latency("core.int_mul", RUBATO_MEMBER(core.int_mul), "Cycles until an integer product can be used.");
  latency("core.int_div", RUBATO_MEMBER(core.int_div),
          "Cycles until an integer quotient or remainder can be used.");
  latency("core.fp_add", RUBATO_MEMBER(core.fp_add),
          "Cycles until a floating-point sum or difference can be used.");
  latency("core.fp_mul", RUBATO_MEMBER(core.fp_mul), "Cycles until a floating-point product can be used.");
  latency("core.fp_fma", RUBATO_MEMBER(core.fp_fma), "Cycles until a fused multiply-add can be used.");
  latency("core.fp_div", RUBATO_MEMBER(core.fp_div), "Cycles until a floating-point quotient can be used.");
  latency("core.fp_sqrt", RUBATO_MEMBER(core.fp_sqrt),
          "Cycles until a floating-point square root can be used.");
  latency("core.fp_misc", RUBATO_MEMBER(core.fp_misc),
          "Cycles until a floating-point comparison, conversion, move or sign operation can be used.");
  k.push_back(number("core.predictor_entries", RUBATO_MEMBER(core.predictor_entries), "entries", 1, 1 << 20,
                     "Counters of the branch direction predictor; a power of two.", kOurs));
  k.push_back(number("core.btb_entries", RUBATO_MEMBER(core.btb_entries), "entries", 1, 1 << 16,
                     "Entries of the branch target buffer; a power of two.", kOurs));
  k.push_back(number("core.ras_entries", RUBATO_MEMBER(core.ras_entries), "entries", 1, 1024,
                     "Entries of the return address stack.", kOurs));
}

}  // namespace rubato::chip
