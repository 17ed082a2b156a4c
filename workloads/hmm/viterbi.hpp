// The score of a sequence's likeliest way through a profile, by Viterbi's algorithm.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "workloads/hmm/profile.hpp"

namespace rubato::workloads::hmm {

/// Scores sequences one after another, with two rows of the matrix.
class Viterbi {
 public:
  explicit Viterbi(const Profile& profile);
  Score score(const Sequence& sequence);

 private:
  /// Scores of a position, when a residue has been read. Those of position k stand at k + 1.
  struct Cell {
    Score match, insert, deletion;
  };
  const Profile& profile_;
  std::vector<Cell> before_, now_;
};

/// The same from the whole matrix of all states, each from the definition, and from the scores of the steps
/// of the way that leads through it. @throws WrongResult if these two differ.
Score plain_score(const Profile& profile, const Sequence& sequence);

}  // namespace rubato::workloads::hmm
