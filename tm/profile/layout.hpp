// The file of the profiler: a header, then segments. A table, of the modules or of a thread's descriptor, is
// one segment or several, each with twice the pages of the one before. All is little-endian words of 64 bits,
// and written in place by the threads of the running program (T61 to T63); python/rubato/tm/profile.py reads
// it. Invariant: a row counts once its key is not 0, a segment once it ends before Header::bytes.
//
// A place is a word: the module's number plus 1 in the upper 16 bits, below it the offset in the module's ELF
// addresses; 0 in the upper bits: an address that no module has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubato::tm::profile {

using Word = std::uint64_t;

constexpr char kMagic[8] = {'R', 'B', 'T', 'M', 'P', 'R', 'O', '4'};
constexpr std::size_t kPage = 4096, kPath = 232, kFrames = 26, kAccessFrames = 10, kCauses = 8,
                      kSerializations = 5, kWaits = 4, kHardware = 5, kSizes = 16, kTimes = 24;

struct Header {
  char magic[8];
  Word process, header_bytes, bytes, threads, modules;  ///< bytes: of the header and all segments
  Word start_ns, start_ticks, last_ns, last_ticks;      ///< two moments, by which ticks become nanoseconds
  Word stacks_every;                                    ///< a stack is kept every so many serializations
  Word stripe;                                          ///< bytes of memory that one record stands for
  Word reserved[4];
};

/// A segment's table.
enum class Kind : Word { modules = 1, sites, stacks, conflicts };

/// The beginning of a segment; rows follow.
struct Segment {
  Word kind, thread, bytes;
  Word lost_sites, lost_stacks,
      lost_conflicts;  ///< events without room; in a thread's first segment of sites
  Word reserved[2];
};

/// Rows that follow the segment's beginning.
template <class Row>
Row* rows_of(Segment& segment) {
  return reinterpret_cast<Row*>(&segment + 1);
}
constexpr std::size_t rows_in(std::size_t bytes, std::size_t row_bytes) {
  return (bytes - sizeof(Segment)) / row_bytes;
}

/// Row of the modules' table, in the order of their numbers.
struct Module {
  Word begin, end, bias;
  char path[kPath];
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

static_assert(sizeof(Header) == 128 && sizeof(Segment) == 64 && sizeof(Module) == 256);
static_assert(sizeof(Site) == 160 * sizeof(Word) && sizeof(Stack) == 32 * sizeof(Word) &&
              sizeof(Conflict) == 16 * sizeof(Word));

}  // namespace rubato::tm::profile
