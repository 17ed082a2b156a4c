// SPDX-License-Identifier: MIT
#include "workloads/hmm/viterbi.hpp"

#include <algorithm>
#include <utility>

namespace rubato::workloads::hmm {

Viterbi::Viterbi(const Profile& profile)
    : profile_(profile), before_(profile.positions + 1), now_(profile.positions + 1) {}

Score Viterbi::score(const Sequence& sequence) {
  constexpr Cell kNothing{kImpossible, kImpossible, kImpossible};
  const Profile& p = profile_;
  std::fill(before_.begin(), before_.end(), kNothing);
  now_[0] = kNothing;
  Score flank = 0, join = kImpossible, tail = kImpossible, begin = p.leave;
  for (const std::uint8_t residue : sequence) {
    const Score *const match = p.match[residue].data(), *const insert = p.insert[residue].data();
    Score end = kImpossible;
    Score match_from = kImpossible;  // the best way into the match of position k from position k - 1
    Score deletion_from = kImpossible;
    for (unsigned k = 0; k < p.positions; ++k) {
      const Transitions& t = p.next[k];
      const Cell& old = before_[k + 1];
      Cell& cell = now_[k + 1];
      cell.match = match[k] + std::max(match_from, begin + t.begin);
      cell.insert = insert[k] + std::max(old.match + t.match_insert, old.insert + t.insert_insert);
      cell.deletion = deletion_from;
      match_from =
          std::max({old.match + t.match_match, old.insert + t.insert_match, old.deletion + t.delete_match});
      deletion_from = std::max(cell.match + t.match_delete, cell.deletion + t.delete_delete);
      end = std::max(end, cell.match);
      // Sums of impossible scores stay impossible.
      cell.insert = std::max(cell.insert, kImpossible);
    }
    std::swap(before_, now_);
    tail = std::max(tail + p.loop, end + p.end_join);
    join = std::max(join + p.loop, end + p.end_join);
    flank += p.loop;
    begin = std::max(flank, join) + p.leave;
  }
  return tail + p.leave;
}

}  // namespace rubato::workloads::hmm
