// Keys of the caches: l1i, l1d, l2 and llc.
// SPDX-License-Identifier: MIT
#include "chip/config/keys/declare.hpp"
#include "chip/config/keys/groups.hpp"

namespace rubato::chip {
namespace {

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
  k.push_back(choice("l1d.prefetcher", RUBATO_MEMBER(l1d.prefetcher), {"none", "stride", "next_line"},
                     "Hardware prefetcher of a core's L1 data cache: of the lines behind the used one, or of "
                     "those that follow at equal distances. It works in detail only, not in fast-forward.",
                     kOurs));
  k.push_back(number("l1d.prefetch_degree", RUBATO_MEMBER(l1d.prefetch_degree), "lines", 1, 16,
                     "Lines that the prefetcher asks for at a miss or a first use of a prefetched line, at "
                     "most.",
                     kOurs));
  k.push_back(number("l1d.prefetch_distance", RUBATO_MEMBER(l1d.prefetch_distance), "strides", 1, 63,
                     "How far ahead of the used line the stride prefetcher asks, within a page of 4 KiB.",
                     kOurs));
  k.push_back(number("l1d.prefetch_streams", RUBATO_MEMBER(l1d.prefetch_streams), "streams", 1, 256,
                     "Streams that the stride prefetcher follows at a time.", kOurs));
  k.push_back(number("l1d.prefetch_entries", RUBATO_MEMBER(l1d.prefetch_entries), "lines", 1, 256,
                     "Prefetched lines of a core that may be on their way at a time; others are dropped.",
                     kOurs));
}

}  // namespace

void add_cache_keys(std::vector<Key>& k) {
  add_cache(k, {"l1i.size", "l1i.ways", "l1i.latency", "Bytes of a core's L1 instruction cache.",
                "Ways of a core's L1 instruction cache.", "Cycles of an L1 instruction cache access.",
                RUBATO_MEMBER(l1i.size), RUBATO_MEMBER(l1i.ways), RUBATO_MEMBER(l1i.latency), false});
  add_cache(k, {"l1d.size", "l1d.ways", "l1d.latency", "Bytes of a core's L1 data cache.",
                "Ways of a core's L1 data cache.", "Cycles of an L1 data cache hit.", RUBATO_MEMBER(l1d.size),
                RUBATO_MEMBER(l1d.ways), RUBATO_MEMBER(l1d.latency), false});
  add_prefetcher(k);
  add_cache(k, {"l2.size", "l2.ways", "l2.latency",
                "Bytes of a tile's L2 cache, which includes its L1 caches; auto: 64 KiB a core of the tile.",
                "Ways of a tile's L2 cache, which has 4 sets or more.", "Cycles of an L2 access.",
                RUBATO_MEMBER(l2.size), RUBATO_MEMBER(l2.ways), RUBATO_MEMBER(l2.latency), true});
  k.push_back(
      choice("l2.inclusion", RUBATO_MEMBER(l2.inclusion), {"inclusive", "exclusive"},
             "Whether the L2 holds what its L1s hold; exclusive: what they evict moves down into it, a hit "
             "moves up. Of tiles of one core, under sparse, tokenb, mosaic and flask.",
             kOurs));
  k.push_back(
      number("l2.mshrs", RUBATO_MEMBER(l2.mshrs), "lines", 0, 1024,
             "Lines that a tile may have asked for at a time, under a protocol by messages; 0: as many "
             "as the load and store buffers of its cores make it ask for.",
             kOurs));
  add_cache(k,
            {"llc.size", "llc.ways", "llc.latency",
             "Bytes of a tile's slice of the last-level cache, which includes all L2 caches; auto: 256 KiB a "
             "core of the tile.",
             "Ways of an LLC slice, which has 4 sets or more.", "Cycles of an LLC slice access.",
             RUBATO_MEMBER(llc.size), RUBATO_MEMBER(llc.ways), RUBATO_MEMBER(llc.latency), true});
  k.push_back(choice("llc.interleave", RUBATO_MEMBER(llc.interleave), {"hash", "low"},
                     "Which slice a line has: by a hash of its address, or (not mesi) by its lowest bits.",
                     kOurs));
  k.push_back(number(
      "llc.banks", RUBATO_MEMBER(llc.banks), "banks", 1, 64,
      "Equal parts of a tile's LLC slice, directory and filter, with a port each; a power of two.", kOurs));
}

}  // namespace rubato::chip
