// The file of the profiler: a header, a table of modules, then a block for each thread's descriptor. All is
// little-endian words of 64 bits, and written in place by the threads of the running program (T61 to
// T63); python/rubato/tm/profile.py reads it. Invariant: a table's entry counts once its key is not 0.
//
// A place is a word: the module's number plus 1 in the upper 16 bits, below it the offset in the module's ELF
// addresses; 0 in the upper bits: an address that no module has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubato::tm::profile {

using Word = std::uint64_t;

constexpr char kMagic[8] = {'R', 'B', 'T', 'M', 'P', 'R', 'O', '3'};
constexpr std::size_t kModules = 256, kPath = 232, kSites = 256, kStacks = 1024, kConflicts = 1024,
                      kFrames = 26, kAccessFrames = 10, kCauses = 8, kSerializations = 5, kWaits = 4,
                      kHardware = 5, kSizes = 16, kTimes = 24;

struct Module {
  Word begin, end, bias;
  char path[kPath];
};

struct Header {
  char magic[8];
  Word process, header_bytes, block_bytes, blocks, modules;
  Word start_ns, start_ticks, last_ns, last_ticks;  ///< two moments, by which ticks become nanoseconds
  Word stacks_every;                                ///< a stack is kept every so many serializations
  Word stripe;                                      ///< bytes of memory that one record stands for
  Word reserved[4];
  Module module[kModules];
};

/// Counts of the transactions that begin at one place.
struct Site {
  Word key, place, committed, read_only, cancelled;
  Word aborted[kCauses];                ///< by Cause; nested ones are parts of attempts
  Word serialized[kSerializations];     ///< by Serialization
  Word ticks_committed, ticks_aborted;  ///< in attempts that committed, and that did not
  Word ticks_waited[kWaits];            ///< by Profile::Wait; for a manager in none of these attempts
  Word hardware[kHardware];             ///< aborts by HardwareAbort, of transactions that committed
  Word reserved[3];
  // Histograms. The bucket of n: 0 for 0, else 1 + floor(log2(n)), at most the last.
  Word reads[kSizes], writes[kSizes];             ///< entries in the logs of concurrent ones that committed
  Word retries[kSizes];                           ///< attempts before the one that committed
  Word committed_by[kTimes], aborted_by[kTimes];  ///< attempts by ticks
  Word loads[kSizes], stores[kSizes];             ///< of concurrent ones that committed, by barriers
};

inline Word bucket(Word n, Word buckets) {
  const Word wanted = n == 0 ? 0 : 64 - static_cast<Word>(__builtin_clzll(n));
  return wanted < buckets ? wanted : buckets - 1;
}

/// A call stack at which transactions became serial. Its first frames are the library's own; the reader drops
/// them, since in a static program no range of addresses is the library's.
struct Stack {
  Word key, serialization, site, subject, count, depth;
  Word frames[kFrames];
};

/// The place and cause of aborted transactions.
struct Conflict {
  Word key, cause, site, other_site, address, count;
  Word frames[kAccessFrames];  ///< from the access outwards; 0 behind the last
};

struct Block {
  Word lost_sites, lost_stacks, lost_conflicts;  ///< events for which the tables had no room
  Word reserved[5];
  Site sites[kSites];
  Stack stacks[kStacks];
  Conflict conflicts[kConflicts];
};

static_assert(sizeof(Module) == 256 && sizeof(Header) == 128 + kModules * sizeof(Module));
static_assert(sizeof(Site) == 160 * sizeof(Word) && sizeof(Stack) == 32 * sizeof(Word) &&
              sizeof(Conflict) == 16 * sizeof(Word));

}  // namespace rubato::tm::profile
