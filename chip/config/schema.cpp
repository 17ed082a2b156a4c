// SPDX-License-Identifier: MIT
#include "chip/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

#include "chip/config/core_models.hpp"

namespace rubato::chip {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
constexpr double kAnyCount = 9007199254740991.0;  // 2^53 - 1: exact as a double
constexpr std::string_view kTable = "Espresso, Table II", kOurs = "Rubato", kSwarm = "Swarm, Sec. V-A";

#define MEMBER(path) [](Config& c) -> Member { return &c.path; }

Key number(std::string_view name, Member (*member)(Config&), std::string_view unit, double minimum,
           double maximum, std::string_view description, std::string_view source) {
  return {.name = name,
          .member = member,
          .unit = unit,
          .minimum = minimum,
          .maximum = maximum,
          .description = description,
          .source = source};
}
Key automatic(Key key) {
  key.automatic = true;
  return key;
}
Key choice(std::string_view name, Member (*member)(Config&), std::vector<std::string_view> choices,
           std::string_view description, std::string_view source) {
  return {.name = name,
          .member = member,
          .unit = "",
          .choices = std::move(choices),
          .description = description,
          .source = source};
}
Key plain(std::string_view name, Member (*member)(Config&), std::string_view description,
          std::string_view source) {
  return {.name = name, .member = member, .unit = "", .description = description, .source = source};
}

void add_chip(std::vector<Key>& k) {
  k.push_back(number("chip.cores", MEMBER(chip.cores), "cores", 1, 1024, "Cores of the chip.", kTable));
  k.push_back(
      automatic(number("chip.cores_per_tile", MEMBER(chip.cores_per_tile), "cores", 1, 8,
                       "Cores that share a tile's L2 cache, LLC slice, router and task unit; must divide "
                       "chip.cores; auto: the largest of 4, 2 and 1 that does.",
                       kTable)));
  k.push_back(
      automatic(number("chip.mesh_width", MEMBER(chip.mesh_width), "tiles", 1, 1024,
                       "Tiles in a row of the mesh; auto: the most square rectangle of all tiles.", kTable)));
  k.push_back(automatic(number("chip.mesh_height", MEMBER(chip.mesh_height), "tiles", 1, 1024,
                               "Tiles in a column of the mesh; auto: the most square rectangle of all tiles.",
                               kTable)));
  k.push_back(number("chip.frequency_mhz", MEMBER(chip.frequency_mhz), "MHz", 1, 100000,
                     "Clock of cores, caches and network: turns cycles into simulated seconds.", kTable));
  k.push_back(number("chip.seed", MEMBER(chip.seed), "", 0, kAnyCount,
                     "Seed of task placement, tie-breaking, the guest's random numbers and chip.perturb.",
                     kOurs));
  k.push_back(number(
      "chip.perturb", MEMBER(chip.perturb), "cycles", 0, 1000,
      "Every line read from memory takes 0 to so many cycles more, drawn by chip.seed, so that seeds are "
      "samples of time; rubato sweep sets 3 where a plan has several seeds.",
      kOurs));
}

void add_core(std::vector<Key>& k) {
#define NAME(name) #name,
  k.push_back(choice("core.model", MEMBER(core.model), {RUBATO_CORE_MODELS(NAME)},
                     "Core model: single-issue, in-order, scoreboarded with stall on use; or with a reorder "
                     "buffer and several instructions a cycle.",
                     kTable));
#undef NAME
  k.push_back(number("core.width", MEMBER(core.width), "instructions", 1, 16,
                     "Of core.model=window: instructions dispatched, and committed, a cycle.", kOurs));
  k.push_back(number("core.rob", MEMBER(core.rob), "entries", 1, 1024,
                     "Of core.model=window: entries of the reorder buffer.", kOurs));
  k.push_back(number("core.int_ports", MEMBER(core.int_ports), "instructions", 1, 16,
                     "Of core.model=window: integer instructions, branches and jumps issued a cycle.",
                     kOurs));
  k.push_back(number("core.fp_ports", MEMBER(core.fp_ports), "instructions", 1, 16,
                     "Of core.model=window: floating-point instructions issued a cycle.", kOurs));
  k.push_back(number("core.mem_ports", MEMBER(core.mem_ports), "instructions", 1, 16,
                     "Of core.model=window: loads and stores issued a cycle.", kOurs));
  k.push_back(
      number("core.int_dividers", MEMBER(core.int_dividers), "units", 0, 16,
             "Of core.model=window: integer dividers, each busy for the latency of a division; 0: every "
             "integer port divides, pipelined.",
             kOurs));
  k.push_back(
      number("core.fp_dividers", MEMBER(core.fp_dividers), "units", 0, 16,
             "Of core.model=window: units for floating-point quotients and square roots, each busy for "
             "the latency of one; 0: every floating-point port has one, pipelined.",
             kOurs));
  k.push_back(number("core.load_buffer", MEMBER(core.load_buffer), "entries", 1, 256,
                     "Loads in flight before the core stalls; of core.model=window the load queue.", kTable));
  k.push_back(number("core.store_buffer", MEMBER(core.store_buffer), "entries", 1, 256,
                     "Stores in flight before the core stalls; of core.model=window the store queue.",
                     kTable));
  k.push_back(plain("core.defers", MEMBER(core.defers),
                    "Under a protocol by messages cores go on past a miss until they need what it brings.",
                    kOurs));
  k.push_back(number("core.mispredict", MEMBER(core.mispredict), "cycles", 0, 100,
                     "Cycles lost on a mispredicted branch or jump.", kTable));
  k.push_back(number("core.syscall", MEMBER(core.syscall), "cycles", 1, 1000000,
                     "Cycles that a system call takes; the operating system is not modelled.", kOurs));
  const auto latency = [&](std::string_view name, Member (*member)(Config&), std::string_view what) {
    k.push_back(number(name, member, "cycles", 1, 1000, what, kOurs));
  };
  latency("core.int_alu", MEMBER(core.int_alu), "Cycles until the result of integer arithmetic can be used.");
  latency("core.int_mul", MEMBER(core.int_mul), "Cycles until an integer product can be used.");
  latency("core.int_div", MEMBER(core.int_div), "Cycles until an integer quotient or remainder can be used.");
  latency("core.fp_add", MEMBER(core.fp_add), "Cycles until a floating-point sum or difference can be used.");
  latency("core.fp_mul", MEMBER(core.fp_mul), "Cycles until a floating-point product can be used.");
  latency("core.fp_fma", MEMBER(core.fp_fma), "Cycles until a fused multiply-add can be used.");
  latency("core.fp_div", MEMBER(core.fp_div), "Cycles until a floating-point quotient can be used.");
  latency("core.fp_sqrt", MEMBER(core.fp_sqrt), "Cycles until a floating-point square root can be used.");
  latency("core.fp_misc", MEMBER(core.fp_misc),
          "Cycles until a floating-point comparison, conversion, move or sign operation can be used.");
  k.push_back(number("core.predictor_entries", MEMBER(core.predictor_entries), "entries", 1, 1 << 20,
                     "Counters of the branch direction predictor; a power of two.", kOurs));
  k.push_back(number("core.btb_entries", MEMBER(core.btb_entries), "entries", 1, 1 << 16,
                     "Entries of the branch target buffer; a power of two.", kOurs));
  k.push_back(number("core.ras_entries", MEMBER(core.ras_entries), "entries", 1, 1024,
                     "Entries of the return address stack.", kOurs));
}

struct CacheKeys {
  std::string_view size, ways, latency, size_text, ways_text, latency_text;
  Member (*size_member)(Config&);
  Member (*ways_member)(Config&);
  Member (*latency_member)(Config&);
  bool automatic_size;
};

void add_cache(std::vector<Key>& k, const CacheKeys& c) {
  Key size = number(c.size, c.size_member, "bytes", 64, kGiB, c.size_text, kTable);
  k.push_back(c.automatic_size ? automatic(size) : size);
  k.push_back(number(c.ways, c.ways_member, "ways", 1, 64, c.ways_text, kTable));
  k.push_back(number(c.latency, c.latency_member, "cycles", 1, 1000, c.latency_text, kTable));
}

void add_prefetcher(std::vector<Key>& k) {
  k.push_back(choice("l1d.prefetcher", MEMBER(l1d.prefetcher), {"none", "stride", "next_line"},
                     "Hardware prefetcher of a core's L1 data cache: of the lines behind the used one, or of "
                     "those that follow at equal distances. It works in detail only, not in fast-forward.",
                     kOurs));
  k.push_back(number("l1d.prefetch_degree", MEMBER(l1d.prefetch_degree), "lines", 1, 16,
                     "Lines that the prefetcher asks for at a miss or a first use of a prefetched line, at "
                     "most.",
                     kOurs));
  k.push_back(number("l1d.prefetch_distance", MEMBER(l1d.prefetch_distance), "strides", 1, 63,
                     "How far ahead of the used line the stride prefetcher asks, within a page of 4 KiB.",
                     kOurs));
  k.push_back(number("l1d.prefetch_streams", MEMBER(l1d.prefetch_streams), "streams", 1, 256,
                     "Streams that the stride prefetcher follows at a time.", kOurs));
  k.push_back(number("l1d.prefetch_entries", MEMBER(l1d.prefetch_entries), "lines", 1, 256,
                     "Prefetched lines of a core that may be on their way at a time; others are dropped.",
                     kOurs));
}

void add_memory(std::vector<Key>& k) {
  add_cache(k, {"l1i.size", "l1i.ways", "l1i.latency", "Bytes of a core's L1 instruction cache.",
                "Ways of a core's L1 instruction cache.", "Cycles of an L1 instruction cache access.",
                MEMBER(l1i.size), MEMBER(l1i.ways), MEMBER(l1i.latency), false});
  add_cache(k, {"l1d.size", "l1d.ways", "l1d.latency", "Bytes of a core's L1 data cache.",
                "Ways of a core's L1 data cache.", "Cycles of an L1 data cache hit.", MEMBER(l1d.size),
                MEMBER(l1d.ways), MEMBER(l1d.latency), false});
  add_prefetcher(k);
  add_cache(k, {"l2.size", "l2.ways", "l2.latency",
                "Bytes of a tile's L2 cache, which includes its L1 caches; auto: 64 KiB a core of the tile.",
                "Ways of a tile's L2 cache, which has 4 sets or more.", "Cycles of an L2 access.",
                MEMBER(l2.size), MEMBER(l2.ways), MEMBER(l2.latency), true});
  k.push_back(
      choice("l2.inclusion", MEMBER(l2.inclusion), {"inclusive", "exclusive"},
             "Whether the L2 holds what its L1s hold; exclusive: what they evict moves down into it, a hit "
             "moves up. Of tiles of one core, under sparse, tokenb, mosaic and flask.",
             kOurs));
  k.push_back(
      number("l2.mshrs", MEMBER(l2.mshrs), "lines", 0, 1024,
             "Lines that a tile may have asked for at a time, under a protocol by messages; 0: as many "
             "as the load and store buffers of its cores make it ask for.",
             kOurs));
  add_cache(k,
            {"llc.size", "llc.ways", "llc.latency",
             "Bytes of a tile's slice of the last-level cache, which includes all L2 caches; auto: 256 KiB a "
             "core of the tile.",
             "Ways of an LLC slice, which has 4 sets or more.", "Cycles of an LLC slice access.",
             MEMBER(llc.size), MEMBER(llc.ways), MEMBER(llc.latency), true});
  k.push_back(choice("llc.interleave", MEMBER(llc.interleave), {"hash", "low"},
                     "Which slice a line has: by a hash of its address, or (not mesi) by its lowest bits.",
                     kOurs));
  k.push_back(number(
      "llc.banks", MEMBER(llc.banks), "banks", 1, 64,
      "Equal parts of a tile's LLC slice, directory and filter, with a port each; a power of two.", kOurs));
  k.push_back(choice(
      "coherence.protocol", MEMBER(coherence.protocol),
      {"mesi", "sparse", "tokenb", "mosaic", "flask", "late"},
      "Coherence protocol: mesi has a directory in the tags of L2 and LLC; the others work by messages and "
      "tokens, tokenb without a directory and the others with one of limited size. late is for tests: mesi, "
      "each of whose misses is performed some cycles later.",
      kTable));
  k.push_back(
      number("coherence.capacity", MEMBER(coherence.capacity), "entries/line", 0.05, 16,
             "Storage for the entries of sparse, mosaic and flask, relative to the lines of the L2s (with "
             "l2.inclusion=exclusive, of L1s and L2s); sets are rounded down to a power of two.",
             kOurs));
  k.push_back(number("coherence.ways", MEMBER(coherence.ways), "ways", 1, 64,
                     "Ways of that storage: a row of 16 bytes in each is an entry, or flask's filter has it.",
                     kOurs));
  k.push_back(number("coherence.directory_ways", MEMBER(coherence.directory_ways), "ways", 1, 64,
                     "Of these ways, flask's directory; sub-tables of its filter are the others, at most 8.",
                     kOurs));
  k.push_back(number(
      "coherence.directory_assoc", MEMBER(coherence.directory_assoc), "entries", 0, 64,
      "Associativity of the directory of sparse, mosaic and flask: its entries regrouped into sets of so "
      "many. 0: as many as its ways.",
      kOurs));
  k.push_back(choice(
      "coherence.partition", MEMBER(coherence.partition), {"fixed", "adaptive"},
      "Whether flask's ways stay directory or filter, or each home moves them while it runs, for what it has "
      "measured.",
      kOurs));
  k.push_back(choice(
      "coherence.filter", MEMBER(coherence.filter), {"dlcbf", "cbf", "exact", "none"},
      "Filter of flask: d-left counting, conventional counting, never wrong, or always \"maybe\".", kOurs));
  k.push_back(
      choice("coherence.filter_counts", MEMBER(coherence.filter_counts), {"private", "chip"},
             "What flask's filter counts: lines of which a tile has some, or all that are on the chip, "
             "those that only the LLC has among them.",
             kOurs));
  k.push_back(
      choice("coherence.mosaic_probe", MEMBER(coherence.mosaic_probe), {"always", "needed"},
             "When mosaic asks all tiles: at every miss of its directory, or not if the LLC has all tokens "
             "of the line, so that no tile can have any.",
             kOurs));
  k.push_back(
      number("coherence.tokens", MEMBER(coherence.tokens), "tokens", 0, 4096,
             "Tokens of a line under sparse, tokenb, mosaic and flask; as many as tiles, or more. 0: one a "
             "tile.",
             kOurs));
  k.push_back(
      number("coherence.sharer_bits", MEMBER(coherence.sharer_bits), "bits", 1, 64,
             "Bits of an entry's sharer vector under sparse, mosaic and flask. Where there are more tiles, a "
             "bit is a group's: a write asks each tile of the groups that may hold the line.",
             kOurs));
  k.push_back(number("coherence.retries", MEMBER(coherence.retries), "retries", 0, 16,
                     "How often tokenb sends a request again before it makes it persistent.", kOurs));
  k.push_back(
      number("coherence.hold", MEMBER(coherence.hold), "cycles", 0, 10000,
             "How long a tile keeps, under tokenb, a line that it got for a load-reserved: time for the "
             "store-conditional. 0: until the load-reserved has used it.",
             kOurs));
  k.push_back(plain(
      "coherence.deliver_all", MEMBER(coherence.deliver_all),
      "Make an event of each arrival of a request at a tile under tokenb, also where the tile has nothing "
      "of the line: slower, for comparison.",
      kOurs));
  k.push_back(
      plain("coherence.profile", MEMBER(coherence.profile),
            "Count who shares lines, under a protocol by messages: statistics chip.sharing.*; takes host "
            "memory for each line, and changes no result.",
            kOurs));
  k.push_back(
      plain("coherence.states", MEMBER(coherence.states),
            "Count hits of L1 data caches by the state of the line: statistics core.C.l1d.hits_shared, "
            "hits_exclusive and hits_modified; each hit takes the host longer, and no result changes.",
            kOurs));
  k.push_back(plain("coherence.check", MEMBER(coherence.check),
                    "Check line versions, single writer and directory agreement at every access (slow).",
                    kOurs));
  k.push_back(number("net.link_bytes", MEMBER(net.link_bytes), "bytes", 1, 256,
                     "Bytes a link carries in a cycle: the size of a flit.", kTable));
  k.push_back(number("net.straight", MEMBER(net.straight), "cycles", 1, 100,
                     "Cycles of a hop that keeps its direction.", kTable));
  k.push_back(number("net.turn", MEMBER(net.turn), "cycles", 1, 100,
                     "Cycles of the hop on which X-Y routing turns.", kTable));
  k.push_back(plain("net.contention", MEMBER(net.contention),
                    "Messages wait for links that others occupy; false: links carry any number at once.",
                    kOurs));
  k.push_back(number("mem.controllers", MEMBER(mem.controllers), "controllers", 1, 64,
                     "Memory controllers at the chip's edges.", kTable));
  k.push_back(
      number("mem.latency", MEMBER(mem.latency), "cycles", 1, 100000, "Cycles of a memory access.", kTable));
  k.push_back(number("mem.bytes_per_cycle", MEMBER(mem.bytes_per_cycle), "bytes/cycle", 0.1, 1024,
                     "Bandwidth of a memory controller.", kTable));
}

void add_disk(std::vector<Key>& k) {
  constexpr std::string_view kSsd = "Samsung 960 PRO";
  k.push_back(number("disk.read_iops", MEMBER(disk.read_iops), "requests/s", 1, 1e9,
                     "Reads of 4 KiB a second, at most, of files opened with O_DIRECT.", kSsd));
  k.push_back(number("disk.write_iops", MEMBER(disk.write_iops), "requests/s", 1, 1e9,
                     "Writes of 4 KiB a second, at most.", kSsd));
  k.push_back(number("disk.read_bandwidth", MEMBER(disk.read_bandwidth), "MB/s", 1, 1e6,
                     "Bytes read a second, at most, in millions.", kSsd));
  k.push_back(number("disk.write_bandwidth", MEMBER(disk.write_bandwidth), "MB/s", 1, 1e6,
                     "Bytes written a second, at most, in millions.", kSsd));
  k.push_back(number("disk.read_latency", MEMBER(disk.read_latency), "us", 0, 1e6,
                     "From the start of a read of at most 4 KiB until it is done.", kSsd));
  k.push_back(number("disk.write_latency", MEMBER(disk.write_latency), "us", 0, 1e6,
                     "From the start of a write of at most 4 KiB until it is done.", kSsd));
  k.push_back(number("disk.queue_depth", MEMBER(disk.queue_depth), "requests", 1, 65536,
                     "Requests that are inside the disk at a time; others wait in order of arrival.", kOurs));
}

void add_task(std::vector<Key>& k) {
  k.push_back(number("task.task_queue", MEMBER(task.task_queue), "entries", 4, 65536,
                     "Task-queue entries a core; a tile's task queue has the sum.", kTable));
  k.push_back(number("task.commit_queue", MEMBER(task.commit_queue), "entries", 1, 65536,
                     "Commit-queue entries a core; a tile's commit queue has the sum.", kTable));
  k.push_back(number("task.send_buffer", MEMBER(task.send_buffer), "entries", 2, 65536,
                     "Created tasks of a tile that wait for their destination's acknowledgement.", kTable));
  k.push_back(number("task.tracked_children", MEMBER(task.tracked_children), "tasks", 1, 64,
                     "Children a speculative task may create before the next one is an exception.", kSwarm));
  k.push_back(number("task.create_cycles", MEMBER(task.create_cycles), "cycles", 1, 1000,
                     "Cycles of a create instruction.", kTable));
  k.push_back(number("task.dequeue_cycles", MEMBER(task.dequeue_cycles), "cycles", 1, 1000,
                     "Cycles a core takes to begin a task given to it.", kTable));
  k.push_back(number("task.finish_cycles", MEMBER(task.finish_cycles), "cycles", 1, 1000,
                     "Cycles of a finish instruction.", kTable));
  k.push_back(
      plain("task.capsules", MEMBER(task.capsules),
            "Capsules have their rights; false: their memory is tracked, and what they do is speculative, "
            "as in all other code.",
            "Espresso, Sec. IV"));
  k.push_back(number("task.abort_handler_cycles", MEMBER(task.abort_handler_cycles), "cycles", 1, 1000,
                     "Cycles in which a capsule registers an abort handler.", kOurs));
  k.push_back(number("task.capsule_handlers", MEMBER(task.capsule_handlers), "tasks", 1, 4096,
                     "Abort handlers that one capsule call may register.", kOurs));
  k.push_back(number(
      "task.handler_records", MEMBER(task.handler_records), "tasks", 1, 65536,
      "Abort handlers that each core keeps, of attempts whose fate is open and those not yet read to be "
      "run; where too few are left for a capsule call, its task goes on non-speculatively.",
      kOurs));
  k.push_back(number("task.capsule_stack", MEMBER(task.capsule_stack), "bytes", 1024, 131072,
                     "Bytes of stack that a speculative task must have left to call a capsule.", kOurs));
  k.push_back(number("task.capsule_call_cycles", MEMBER(task.capsule_call_cycles), "cycles", 0, 1000,
                     "Cycles of a capsule call beyond the load of its vector entry.", kOurs));
  k.push_back(choice("task.mayspec", MEMBER(task.mayspec), {"mayspec", "spec", "nonspec"},
                     "What MAYSPEC tasks run as: one program serves all modes.", "Espresso, Sec. VI"));
  k.push_back(number("task.yield_aborts", MEMBER(task.yield_aborts), "attempts", 0, 65536,
                     "From so many attempts aborted by one non-speculative task on, MAYSPEC tasks that it "
                     "aborts wait until its timestamp is over; 0: they never do.",
                     kOurs));
  k.push_back(choice(
      "task.throttle", MEMBER(task.throttle), {"reach", "none"},
      "reach: if many MAYSPEC attempts are aborted, trials choose what commits tasks fastest: no limit of "
      "how far ahead of the GVT they speculate, limits that tiles learn, or no speculation; none: no limit.",
      kOurs));
  k.push_back(number("task.throttle_entries", MEMBER(task.throttle_entries), "entries", 1, 65536,
                     "Entries of a tile's throttle table, for task functions and their locales.", kOurs));
  k.push_back(
      number("task.spare_workers", MEMBER(task.spare_workers), "threads", 0, 16,
             "Worker threads a tile beyond one a core: so many more tasks may run while others wait in "
             "system calls.",
             kOurs));
  k.push_back(number("task.spill_batch", MEMBER(task.spill_batch), "tasks", 1, 1024,
                     "Tasks that one spill moves to memory.", kTable));
  k.push_back(number("task.spill_threshold", MEMBER(task.spill_threshold), "share", 0.1, 1,
                     "Share of a tile's task queue in use from which on it spills.", kTable));
  k.push_back(number("task.uncommitted_share", MEMBER(task.uncommitted_share), "share", 0.1, 1,
                     "Share of a tile's task queue that children of uncommitted parents may fill.", kOurs));
  k.push_back(plain("task.unlimited_queues", MEMBER(task.unlimited_queues),
                    "Study: task and commit queues of any length, so nothing spills or stalls.", kOurs));
  k.push_back(
      choice("task.mapper", MEMBER(task.mapper), {"hash", "random"},
             "Which tile a task goes to: by the hash of its locale, or (study) those created as SPEC to "
             "random ones: the locale of a SPEC task then keeps only those of its tile away.",
             kSwarm));
}

void add_order(std::vector<Key>& k) {
  k.push_back(choice("conflict.sets", MEMBER(conflict.sets), {"bloom", "exact"},
                     "Read and write sets: Bloom filters as in hardware, or exact sets (study).", kTable));
  k.push_back(number("conflict.bloom_bits", MEMBER(conflict.bloom_bits), "bits", 64, 65536,
                     "Bits of a Bloom filter; a power of two.", kTable));
  k.push_back(number("conflict.bloom_ways", MEMBER(conflict.bloom_ways), "hashes", 1, 16,
                     "H3 hash functions of a Bloom filter.", kTable));
  k.push_back(choice("conflict.forwarding", MEMBER(conflict.forwarding), {"on", "stall", "abort"},
                     "What meets an earlier uncommitted write: uses it, stalls, or aborts (studies).",
                     kSwarm));
  k.push_back(plain("conflict.selective_aborts", MEMBER(conflict.selective_aborts),
                    "Aborts take dependent tasks only; false (study): all later tasks.", kSwarm));
  k.push_back(number("conflict.tile_check", MEMBER(conflict.tile_check), "cycles", 0, 1000,
                     "Cycles of a conflict check in a tile.", kTable));
  k.push_back(number("conflict.per_timestamp", MEMBER(conflict.per_timestamp), "cycles", 0, 1000,
                     "Cycles of a conflict check for each timestamp compared.", kTable));
  k.push_back(plain("conflict.free_checks", MEMBER(conflict.free_checks),
                    "Study: conflict checks take neither cycles nor messages.", kOurs));
  k.push_back(number("arbiter.period", MEMBER(arbiter.period), "cycles", 1, 1000000,
                     "Cycles between the samples of the tiles' virtual times.", kTable));
  k.push_back(plain("arbiter.delay", MEMBER(arbiter.delay),
                    "Rounds of the arbiter take time by hops and send messages; false (study): neither.",
                    kOurs));
}

void add_energy(std::vector<Key>& k) {
  k.push_back(number("energy.sram_pj", MEMBER(energy.sram_pj), "pJ", 0, 1e6,
                     "Energy of 64 bits read from an SRAM array of 1 KiB; it grows with the square root of "
                     "capacity and of wider rows, and a write takes 1.1 times as much.",
                     "Horowitz, ISSCC 2014"));
  k.push_back(number("energy.flit_hop_pj", MEMBER(energy.flit_hop_pj), "pJ", 0, 1e6,
                     "Energy of 16 bytes through a router and over a link; other flits by their bytes.",
                     kOurs));
  k.push_back(number("energy.leakage_mw_per_mib", MEMBER(energy.leakage_mw_per_mib), "mW/MiB", 0, 1e6,
                     "Power that SRAM takes whatever it does.", kOurs));
  k.push_back(number("energy.memory_nj", MEMBER(energy.memory_nj), "nJ", 0, 1e6,
                     "Energy of a line read from memory or written to it, which is no part of the chip's.",
                     kOurs));
}

void add_run(std::vector<Key>& k) {
  k.push_back(number("run.max_cycles", MEMBER(run.max_cycles), "cycles", 0, kAnyCount,
                     "Cycles after which a run ends with exit code 4; 0: no limit.", kOurs));
  k.push_back(number("run.instructions", MEMBER(run.instructions), "instructions", 0, kAnyCount,
                     "Instructions in detail after which a run ends, when each program has executed them; 0: "
                     "no limit.",
                     kOurs));
  k.push_back(number(
      "run.lookahead_cycles", MEMBER(run.lookahead_cycles), "cycles", 0, 1024,
      "Cycles a core may run ahead of the clock on register work and L1 hits; 0: strict order.", kOurs));
  k.push_back(
      plain("run.warm", MEMBER(run.warm), "Fast-forward warms L2 caches, LLC and directories.", kOurs));
  k.push_back(plain("run.fast_forward", MEMBER(run.fast_forward),
                    "Instructions outside the region of interest run without time; false: all run in detail.",
                    kOurs));
  k.push_back(plain(
      "run.roi", MEMBER(run.roi),
      "Symbol whose execution is the region of interest; @markers: the regions that the program "
      "marks (rubato/markers.h); @none: nothing, all but tasks runs without time; empty: rubato::run(), "
      "or main without it.",
      kOurs));
  k.push_back(number("run.quantum", MEMBER(run.quantum), "instructions", 1, 1e9,
                     "Instructions a thread runs at a time in fast-forward.", kOurs));
  k.push_back(number("run.time_slice", MEMBER(run.time_slice), "cycles", 100, 1e12,
                     "Cycles a thread runs at a time when threads outnumber cores.", kOurs));
  k.push_back(number("run.profile_cycles", MEMBER(run.profile_cycles), "cycles", 0, 1e12,
                     "Cycles between two samples of where every core is, which change no result; 0: none.",
                     kOurs));
  k.push_back(
      choice("run.contention", MEMBER(run.contention), {"auto", "true", "false"},
             "Watch the lines that cores take from one another, and the loops in which they wait: a table "
             "of contended lines for reports. It changes no result. auto: one program of threads on several "
             "cores in order, without run.check_replay.",
             kOurs));
  k.push_back(number("run.stack_bytes", MEMBER(run.stack_bytes), "bytes", 64 * kKiB, 16 * kGiB,
                     "Stack of the main thread: a part of run.memory_bytes, and at most a sixteenth of the "
                     "address space.",
                     kOurs));
  k.push_back(number("run.memory_bytes", MEMBER(run.memory_bytes), "bytes", 16 * kMiB, 256 * kGiB,
                     "Memory of the program; what it asks for beyond is refused (ENOMEM). So is what would "
                     "take the simulator "
                     "beyond the host's memory (or its control group's), less an eighth, at least 512 MiB.",
                     kOurs));
  k.push_back(
      number("run.address_bits", MEMBER(run.address_bits), "bits", 32, 38,
             "The program's address space has 2^this bytes, which the simulator reserves. A host that cannot "
             "(valgrind) needs fewer: 35. Stack and mappings then lie lower.",
             kOurs));
  k.push_back(
      plain("run.check_replay", MEMBER(run.check_replay),
            "Replay committed tasks serially in their order and compare every load, every creation and the "
            "final memory (slow).",
            kOurs));
  k.push_back(plain("run.check_ties", MEMBER(run.check_ties),
                    "End the run where two tasks touch one word, one of them writes, and neither timestamps, "
                    "creation, locales nor synchronization order them (slow; 2 cores or more).",
                    kOurs));
  k.push_back(plain("run.check_capsules", MEMBER(run.check_capsules),
                    "Look at every instruction of capsules for what they must not do: use their own writable "
                    "data, tp, or read back what they stored in tracked memory (slow).",
                    kOurs));
  k.push_back(
      choice("run.alloc", MEMBER(run.alloc), {"guest", "ideal"},
             "Memory allocation: the program's own functions (malloc, free, operator new, ...), or (study) "
             "pools of each core in the simulator, which take no cycles and no part in conflicts.",
             kOurs));
}

#undef MEMBER

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Integers without a fraction, others as short as exact.
std::string plain_number(double v) {
  return v == static_cast<double>(static_cast<std::uint64_t>(v))
             ? fmt::format("{}", static_cast<std::uint64_t>(v))
             : fmt::format("{}", v);
}

}  // namespace

KeyType Key::type() const {
  static Config example;
  const Member m = member(example);
  if (std::holds_alternative<bool*>(m)) return KeyType::boolean;
  if (std::holds_alternative<double*>(m)) return KeyType::number;
  if (std::holds_alternative<std::string*>(m)) return choices.empty() ? KeyType::text : KeyType::choice;
  return KeyType::integer;
}

Value Key::get(const Config& config) const {
  Config copy = config;
  return std::visit(
      [](const auto* p) -> Value {
        using T = std::remove_cvref_t<decltype(*p)>;
        if constexpr (std::is_same_v<T, std::uint32_t>) {
          return std::uint64_t{*p};
        } else {
          return *p;
        }
      },
      member(copy));
}

std::string Key::expected() const {
  switch (type()) {
    case KeyType::boolean:
      return "true or false";
    case KeyType::choice:
      return fmt::format("{}", fmt::join(choices, ", "));
    case KeyType::text:
      return "a text";
    case KeyType::integer:
    case KeyType::number:
      break;
  }
  const std::string upper = maximum == kAnyCount ? "2^53 - 1" : plain_number(maximum);
  return fmt::format("{} to {}{}{}{}", plain_number(minimum), upper, unit.empty() ? "" : " ", unit,
                     automatic ? ", or auto" : "");
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> k;
    add_chip(k);
    add_core(k);
    add_memory(k);
    add_disk(k);
    add_task(k);
    add_order(k);
    add_energy(k);
    add_run(k);
    return k;
  }();
  return all;
}

const Key* find_key(std::string_view name) {
  const auto it =
      std::find_if(keys().begin(), keys().end(), [&](const Key& key) { return key.name == name; });
  return it == keys().end() ? nullptr : &*it;
}

std::string nearest(const NearestQuery& query) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, query.name.size() / 3) + 1;
  for (const std::string& candidate : query.known) {
    const std::size_t distance = edit_distance(query.name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string nearest_key(std::string_view name) {
  std::vector<std::string> known;
  for (const Key& key : keys()) {
    if (key.name.substr(key.name.find('.') + 1) == name)
      return std::string(key.name);  // the section was left out
    known.emplace_back(key.name);
  }
  return nearest({name, known});
}

}  // namespace rubato::chip
