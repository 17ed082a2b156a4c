// A profile hidden Markov model of protein sequences: a chain of positions, each with a state that matches a
// residue, one that inserts residues and one that is silent, for a deletion (Krogh et al., 1994; Durbin et
// al., "Biological sequence analysis", 1998, chapter 5). Around the chain are states for residues that belong
// to nothing, so that a sequence may hold parts of the profile, several times.
//
//   N -> B -> (match, insert, delete of position 1, 2, ...) -> E -> C, the end
//        ^--------------------- J <--------------------------'
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"

namespace rubato::workloads::hmm {

constexpr unsigned kResidues = 20;

/// Thousandths of a bit, of a probability or of its ratio to the background's.
using Score = std::int32_t;
constexpr Score kImpossible = -1000000000;  // so that sums of a few do not overflow

using Sequence = std::vector<std::uint8_t>;

/// Transitions from a position to the next one.
struct Transitions {
  Score match_match, match_insert, match_delete, insert_match, insert_insert, delete_match, delete_delete;
  Score begin;  ///< from B to its match
};

struct Profile {
  /// `positions` with residues and transitions that `seed` chooses.
  Profile(unsigned positions, std::uint64_t seed);

  unsigned positions;
  std::array<std::vector<Score>, kResidues> match, insert;  ///< of the residue: a score of each position
  std::vector<Transitions> next;                            ///< of each position
  Score loop, leave;                                        ///< of N, J and C: one residue more, and on
  Score end_join;                                           ///< E to J and E to C: both 1/2
};

/// `length` residues: background, and parts of the profile's likeliest residues with errors.
Sequence draw_sequence(const Profile& profile, unsigned length, Rng& rng);

}  // namespace rubato::workloads::hmm
