// The description of a chip: one plain struct a section, one member a key. Defaults here are the
// publication's 256-core machine (Espresso, Table II). Names, units, ranges and sentences
// of every key are declared once in schema.cpp, from which --help-config, checks, run.toml and
// docs/parameters.md are made. "auto" values (0) are replaced by resolve(), so the rest of the chip only sees
// resolved numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rubato::chip {

struct ChipSection {
  std::uint32_t cores = 256;         ///< 1 to 1024
  std::uint32_t cores_per_tile = 0;  ///< 1 to 8; 0: 4, or fewer on chips with fewer cores
  std::uint32_t mesh_width = 0;      ///< tiles a row; 0: the most square rectangle
  std::uint32_t mesh_height = 0;
  std::uint64_t frequency_mhz = 2000;
  std::uint64_t seed = 1;
  std::uint32_t perturb = 0;  ///< at most so many cycles more for a line read from memory, drawn by the seed
};

/// Cycles from issue until a dependent instruction may issue, by class.
struct CoreSection {
  std::string model = "inorder";       ///< or window
  std::uint32_t width = 4, rob = 128;  ///< of window: dispatched and committed a cycle; entries
  std::uint32_t int_ports = 4, fp_ports = 2, mem_ports = 2;  ///< of window: instructions issued a cycle
  std::uint32_t int_dividers = 1, fp_dividers = 1;  ///< of window; 0: dividers are pipelined, one a port
  std::uint32_t load_buffer = 16, store_buffer = 16;
  bool defers = true;  ///< under a protocol by messages: threads go on past a miss (K11)
  std::uint32_t mispredict = 5;
  std::uint32_t syscall = 100;  ///< cycles a system call takes: the operating system is not modelled
  std::uint32_t int_alu = 1, int_mul = 3, int_div = 20, fp_add = 4, fp_mul = 4, fp_fma = 5, fp_div = 15,
                fp_sqrt = 20, fp_misc = 2;
  std::uint32_t predictor_entries = 2048, btb_entries = 256, ras_entries = 8;
};

struct CacheSection {
  std::uint64_t size = 0;  ///< bytes; 0 for l2 and llc: scaled by the cores of a tile
  std::uint32_t ways = 8;
  std::uint32_t latency = 1;            ///< cycles, tag and data
  std::string inclusion = "inclusive";  ///< of the L2, of its tile's L1s (K20)
  std::uint32_t mshrs = 0;              ///< of the L2; 0: as many as its cores ask for (K15)
  std::string interleave = "hash";      ///< of the LLC: which slice a line has (K22)
  std::uint32_t banks = 1;              ///< of an LLC slice, a port each
  // Keys of the L1D's prefetcher:
  std::string prefetcher = "none";      ///< or stride, next_line
  std::uint32_t prefetch_degree = 2;    ///< lines that a use asks for, at most
  std::uint32_t prefetch_distance = 8;  ///< strides ahead of the use
  std::uint32_t prefetch_streams = 16;  ///< that are followed at a time
  std::uint32_t prefetch_entries = 16;  ///< requests under way at a time
};

struct CoherenceSection {
  std::string protocol = "mesi";
  bool check = false;  ///< versions, single writer, directory agreement at every access (C21)
  // Keys of sparse, mosaic and flask (K55, K56):
  double capacity = 1.0;                  ///< entries / lines of the L2s
  std::uint32_t ways = 8;                 ///< of the storage for entries
  std::uint32_t directory_ways = 4;       ///< flask: of them; the others are the filter's sub-tables
  std::uint32_t directory_assoc = 0;      ///< of the directory's entries; 0: as many as its ways
  std::string partition = "fixed";        ///< or adaptive (K59)
  std::string filter = "dlcbf";           ///< of flask (K49)
  std::string filter_counts = "private";  ///< which lines, private or chip (K47)
  std::string mosaic_probe = "always";    ///< or needed (K37)
  bool profile = false;                   ///< counts the sharers of lines, and errors of the filter (K84)
  bool states = false;                    ///< counts L1 hits by the state of the line
  std::uint32_t retries = 1;              ///< of tokenb, before a request is persistent (K43)
  std::uint32_t tokens = 0;               ///< of a line; 0: one a tile (K27)
  std::uint32_t sharer_bits = 64;         ///< of an entry; fewer than tiles: a bit is a group's (K35)
  std::uint32_t hold = 64;                ///< of tokenb, cycles for the sc of an lr (K13)
  bool deliver_all = false;               ///< also what changes nothing where it arrives (K26)
};

struct NetSection {
  std::uint32_t link_bytes = 16;
  std::uint32_t straight = 1, turn = 2;  ///< cycles a hop
  bool contention = true;
};

struct MemSection {
  std::uint32_t controllers = 4;
  std::uint32_t latency = 120;
  double bytes_per_cycle = 12.8;  ///< a controller
};

/// The disk of files opened with O_DIRECT: a Samsung 960 PRO (P79).
struct DiskSection {
  std::uint32_t read_iops = 440'000, write_iops = 360'000;
  std::uint32_t read_bandwidth = 3500, write_bandwidth = 2100;  ///< MB/s
  std::uint32_t read_latency = 70, write_latency = 20;          ///< us
  std::uint32_t queue_depth = 1024;
};

struct TaskSection {
  std::uint32_t task_queue = 64, commit_queue = 16;  ///< entries a core
  std::uint32_t send_buffer = 32;                    ///< entries a tile
  std::uint32_t tracked_children = 8;
  std::uint32_t create_cycles = 5, dequeue_cycles = 5, finish_cycles = 5;
  bool capsules = true;  ///< false: code in capsules speculates on what it touches, as all other code
  std::uint32_t capsule_call_cycles = 1, abort_handler_cycles = 5;
  std::uint32_t capsule_handlers = 64;   ///< a capsule call may register
  std::uint32_t handler_records = 4096;  ///< a core
  std::uint32_t capsule_stack = 8192;    ///< bytes that a capsule call needs
  std::string mayspec = "mayspec";       ///< mayspec | spec | nonspec: what MAYSPEC tasks are run as
  std::uint32_t yield_aborts = 16;       ///< of a non-speculative task; 0: MAYSPEC tasks never yield
  std::string throttle = "reach";        ///< reach | none: how far ahead MAYSPEC tasks may speculate
  std::uint32_t throttle_entries = 64;   ///< a tile
  std::uint32_t spare_workers = 4;  ///< a tile, for tasks that run while others wait in system calls (C18)
  std::uint32_t spill_batch = 15;
  double spill_threshold = 0.85;    ///< share of a full task queue
  double uncommitted_share = 0.75;  ///< of a task queue that children of uncommitted parents may fill (C13)
  bool unlimited_queues = false;
  std::string mapper = "hash";  ///< hash | random (locales ignored for placement where legal)
};

struct ConflictSection {
  std::string sets = "bloom";  ///< bloom | exact
  std::uint32_t bloom_bits = 2048, bloom_ways = 8;
  std::string forwarding = "on";  ///< on | stall | abort
  bool selective_aborts = true;
  std::uint32_t tile_check = 5, per_timestamp = 1;  ///< cycles
  bool free_checks = false;
};

struct ArbiterSection {
  std::uint32_t period = 200;  ///< cycles between samples
  bool delay = true;           ///< false: rounds take no time and no traffic
};

/// The energy to move bits (K77). No cycle count, and no result but energy, depends on it.
struct EnergySection {
  double sram_pj = 3.4;
  double flit_hop_pj = 100;
  double leakage_mw_per_mib = 30;
  double memory_nj = 20;
};

struct RunSection {
  std::uint64_t max_cycles = 0;         ///< 0: no limit
  std::uint64_t instructions = 0;       ///< in detail, of each program (K82); 0: no limit
  std::uint32_t lookahead_cycles = 32;  ///< 0: strict order
  bool warm = false;                    ///< L2, LLC and directories warmed by fast-forward (C4)
  bool fast_forward = true;
  std::string roi;                        ///< symbol; empty: rubato::run(), else main
  std::uint64_t quantum = 10000;          ///< instructions a thread runs at a time in fast-forward
  std::uint64_t time_slice = 50000;       ///< cycles, when threads outnumber cores (C3)
  std::uint64_t profile_cycles = 10000;   ///< between two samples of where cores are; 0: none
  std::uint64_t start_date = 1704067200;  ///< of the program's clock, seconds since 1970: 2024-01-01
  std::uint64_t stack_bytes = 8u << 20;   ///< of the main thread
  std::uint64_t memory_bytes = std::uint64_t{64} << 30;  ///< of the program, what may be written
  std::uint32_t address_bits = 38;                       ///< of the program's address space: 256 GiB
  std::string contention = "auto";  ///< watch the lines that cores take from one another: auto | true | false
  bool check_replay = false;        ///< replay tasks serially as they commit, and compare (C19)
  bool check_ties = false;          ///< look for tasks that touch one word and are not ordered
  bool check_capsules = false;      ///< look for what capsules must not do (P104)
  std::string alloc = "guest";      ///< guest | ideal
};

struct Config {
  ChipSection chip;
  CoreSection core;
  CacheSection l1i{16u << 10, 8, 2}, l1d{16u << 10, 8, 2};  ///< a core each
  CacheSection l2{0, 8, 7};                                 ///< a tile; 64 KiB a core
  CacheSection llc{0, 16, 9};                               ///< a slice (tile); 256 KiB a core
  CoherenceSection coherence;
  NetSection net;
  MemSection mem;
  DiskSection disk;
  TaskSection task;
  ConflictSection conflict;
  ArbiterSection arbiter;
  EnergySection energy;
  RunSection run;

  std::uint32_t tiles() const { return chip.cores / chip.cores_per_tile; }
};

/// Replaces automatic values and checks what single keys cannot: shapes, multiples, powers of two.
/// @throws UsageError naming the key and what was expected.
Config resolve(Config config);

}  // namespace rubato::chip
