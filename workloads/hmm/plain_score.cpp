// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "workloads/common/workload.hpp"
#include "workloads/hmm/viterbi.hpp"

namespace rubato::workloads::hmm {

namespace {

enum State : unsigned { kN, kB, kE, kJ, kC, kFirstOfPositions };

/// A step of the model: from state to state, and its score without the residue that `to` emits.
struct Step {
  unsigned to, from;
  Score score;
};

/// The model as a list of steps. It knows nothing of rows.
class Model {
 public:
  explicit Model(const Profile& profile)
      : profile_(profile), into_(kFirstOfPositions + 3 * profile.positions) {
    add({kN, kN, profile.loop});
    add({kB, kN, profile.leave});
    add({kB, kJ, profile.leave});
    add({kJ, kE, profile.end_join});
    add({kJ, kJ, profile.loop});
    add({kC, kE, profile.end_join});
    add({kC, kC, profile.loop});
    for (unsigned k = 0; k < profile.positions; ++k) {
      const Transitions& t = profile.next[k];
      add({match(k), kB, t.begin});
      add({kE, match(k), 0});
      add({insert(k), match(k), t.match_insert});
      add({insert(k), insert(k), t.insert_insert});
      if (k + 1 == profile.positions) continue;
      add({match(k + 1), match(k), t.match_match});
      add({match(k + 1), insert(k), t.insert_match});
      add({match(k + 1), deletion(k), t.delete_match});
      add({deletion(k + 1), match(k), t.match_delete});
      add({deletion(k + 1), deletion(k), t.delete_delete});
    }
  }
  unsigned states() const { return static_cast<unsigned>(into_.size()); }
  const std::vector<Step>& into(unsigned state) const { return into_[state]; }
  /// Does the step take a residue? Those from E to J and C do not; those that stay there do.
  bool takes_residue(const Step& s) const {
    if (s.to >= kFirstOfPositions) return (s.to - kFirstOfPositions) % 3 != 2;
    return s.to == s.from;
  }
  Score emission(const Step& s, std::uint8_t residue) const {
    if (s.to < kFirstOfPositions) return 0;
    const unsigned k = (s.to - kFirstOfPositions) / 3;
    return (s.to - kFirstOfPositions) % 3 == 0 ? profile_.match[residue][k] : profile_.insert[residue][k];
  }
  /// The order in which states that take no residue are known: those of positions, E, J and C, B.
  std::vector<unsigned> order() const {
    std::vector<unsigned> states{kN};
    for (unsigned k = 0; k < profile_.positions; ++k)
      for (const unsigned s : {match(k), insert(k), deletion(k)}) states.push_back(s);
    for (const unsigned s : {kE, kJ, kC, kB}) states.push_back(s);
    return states;
  }

 private:
  static unsigned match(unsigned k) { return kFirstOfPositions + 3 * k; }
  static unsigned insert(unsigned k) { return kFirstOfPositions + 3 * k + 1; }
  static unsigned deletion(unsigned k) { return kFirstOfPositions + 3 * k + 2; }
  void add(const Step& s) { into_[s.to].push_back(s); }

  const Profile& profile_;
  std::vector<std::vector<Step>> into_;
};

}  // namespace

Score plain_score(const Profile& profile, const Sequence& sequence) {
  struct Entry {
    Score score = kImpossible;
    const Step* step = nullptr;  // that led here
  };
  const Model model(profile);
  const std::vector<unsigned> order = model.order();
  std::vector<std::vector<Entry>> matrix(sequence.size() + 1, std::vector<Entry>(model.states()));
  matrix[0][kN].score = 0;
  for (std::size_t i = 0; i <= sequence.size(); ++i)
    for (const unsigned state : order)
      for (const Step& step : model.into(state)) {
        const bool takes = model.takes_residue(step);
        if (takes && i == 0) continue;
        const Score from = matrix[takes ? i - 1 : i][step.from].score;
        if (from == kImpossible) continue;
        const Score score = from + step.score + (takes ? model.emission(step, sequence[i - 1]) : 0);
        if (Entry& entry = matrix[i][state]; score > entry.score) entry = {score, &step};
      }

  // Back along the way.
  Score sum = profile.leave;
  std::size_t i = sequence.size();
  unsigned state = kC;
  while (const Step* step = matrix[i][state].step) {
    sum += step->score;
    if (model.takes_residue(*step)) sum += model.emission(*step, sequence[--i]);
    state = step->from;
  }
  const Score score = matrix[sequence.size()][kC].score + profile.leave;
  if (i != 0 || state != kN || sum != score)
    throw WrongResult("the steps of a way score " + std::to_string(sum) + ", the matrix has " +
                      std::to_string(score));
  return score;
}

}  // namespace rubato::workloads::hmm
