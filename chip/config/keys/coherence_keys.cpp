// Keys of the coherence protocols: coherence.
// SPDX-License-Identifier: MIT
#include "chip/config/keys/declare.hpp"
#include "chip/config/keys/groups.hpp"

namespace rubato::chip {

void add_coherence_keys(std::vector<Key>& k) {
  k.push_back(choice(
      "coherence.protocol", RUBATO_MEMBER(coherence.protocol),
      {"mesi", "sparse", "tokenb", "mosaic", "flask", "late"},
      "Coherence protocol: mesi has a directory in the tags of L2 and LLC; the others work by messages and "
      "tokens, tokenb without a directory and the others with one of limited size. late is for tests: mesi, "
      "each of whose misses is performed some cycles later.",
      kTable));
  k.push_back(
      number("coherence.capacity", RUBATO_MEMBER(coherence.capacity), "entries/line", 0.05, 16,
             "Storage for the entries of sparse, mosaic and flask, relative to the lines of the L2s (with "
             "l2.inclusion=exclusive, of L1s and L2s); sets are rounded down to a power of two.",
             kOurs));
  k.push_back(number("coherence.ways", RUBATO_MEMBER(coherence.ways), "ways", 1, 64,
                     "Ways of that storage: a row of 16 bytes in each is an entry, or flask's filter has it.",
                     kOurs));
  k.push_back(number("coherence.directory_ways", RUBATO_MEMBER(coherence.directory_ways), "ways", 1, 64,
                     "Of these ways, flask's directory; sub-tables of its filter are the others, at most 8.",
                     kOurs));
  k.push_back(number(
      "coherence.directory_assoc", RUBATO_MEMBER(coherence.directory_assoc), "entries", 0, 64,
      "Associativity of the directory of sparse, mosaic and flask: its entries regrouped into sets of so "
      "many. 0: as many as its ways.",
      kOurs));
  k.push_back(choice(
      "coherence.partition", RUBATO_MEMBER(coherence.partition), {"fixed", "adaptive"},
      "Whether flask's ways stay directory or filter, or each home moves them while it runs, for what it has "
      "measured.",
      kOurs));
  k.push_back(choice(
      "coherence.filter", RUBATO_MEMBER(coherence.filter), {"dlcbf", "cbf", "exact", "none"},
      "Filter of flask: d-left counting, conventional counting, never wrong, or always \"maybe\".", kOurs));
  k.push_back(
      choice("coherence.filter_counts", RUBATO_MEMBER(coherence.filter_counts), {"private", "chip"},
             "What flask's filter counts: lines of which a tile has some, or all that are on the chip, "
             "those that only the LLC has among them.",
             kOurs));
  k.push_back(
      choice("coherence.mosaic_probe", RUBATO_MEMBER(coherence.mosaic_probe), {"always", "needed"},
             "When mosaic asks all tiles: at every miss of its directory, or not if the LLC has all tokens "
             "of the line, so that no tile can have any.",
             kOurs));
  k.push_back(
      number("coherence.tokens", RUBATO_MEMBER(coherence.tokens), "tokens", 0, 4096,
             "Tokens of a line under sparse, tokenb, mosaic and flask; as many as tiles, or more. 0: one a "
             "tile.",
             kOurs));
  k.push_back(
      number("coherence.sharer_bits", RUBATO_MEMBER(coherence.sharer_bits), "bits", 1, 64,
             "Bits of an entry's sharer vector under sparse, mosaic and flask. Where there are more tiles, a "
             "bit is a group's: a write asks each tile of the groups that may hold the line.",
             kOurs));
  k.push_back(number("coherence.retries", RUBATO_MEMBER(coherence.retries), "retries", 0, 16,
                     "How often tokenb sends a request again before it makes it persistent.", kOurs));
  k.push_back(
      number("coherence.hold", RUBATO_MEMBER(coherence.hold), "cycles", 0, 10000,
             "How long a tile keeps, under tokenb, a line that it got for a load-reserved: time for the "
             "store-conditional. 0: until the load-reserved has used it.",
             kOurs));
  k.push_back(plain(
      "coherence.deliver_all", RUBATO_MEMBER(coherence.deliver_all),
      "Make an event of each arrival of a request at a tile under tokenb, also where the tile has nothing "
      "of the line: slower, for comparison.",
      kOurs));
  k.push_back(plain(
      "coherence.profile", RUBATO_MEMBER(coherence.profile),
      "Count who shares lines, under a protocol by messages, and why flask's filter errs: statistics "
      "chip.sharing.* and tile.T.filter.vain_*; takes host memory for each line, and changes no result.",
      kOurs));
  k.push_back(
      plain("coherence.states", RUBATO_MEMBER(coherence.states),
            "Count hits of L1 data caches by the state of the line: statistics core.C.l1d.hits_shared, "
            "hits_exclusive and hits_modified; each hit takes the host longer, and no result changes.",
            kOurs));
  k.push_back(plain("coherence.check", RUBATO_MEMBER(coherence.check),
                    "Check line versions, single writer and directory agreement at every access (slow).",
                    kOurs));
}

}  // namespace rubato::chip
