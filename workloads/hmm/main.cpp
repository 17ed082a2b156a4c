// hmm: sequences against a profile, in place of SPEC's hmmer (docs/workloads.md).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <memory>

#include "workloads/common/workload.hpp"
#include "workloads/hmm/viterbi.hpp"

namespace rubato::workloads::hmm {
namespace {

struct Sizes {
  unsigned positions = 1000;
  unsigned length = 150;
};

/// Work of a thread: scores sequences with a profile of its own.
struct Scorer {
  Scorer(const Sizes& sizes, std::uint64_t seed)
      : profile(sizes.positions, seed), viterbi(profile), rng(mix64(seed)) {}
  Profile profile;
  Viterbi viterbi;
  Rng rng;
  Score best = kImpossible;
  std::int64_t total = 0;
  std::string wrong;  ///< what --verify found
};

void check(Scorer& scorer, const Sequence& sequence, Score score) try {
  const Score plain = plain_score(scorer.profile, sequence);
  if (score != plain)
    scorer.wrong = "a sequence scores " + std::to_string(score) + ", and " + std::to_string(plain) +
                   " by the whole matrix";
} catch (const WrongResult& wrong) {
  scorer.wrong = wrong.what();
}

void run(const Sizes& sizes, const WorkloadOptions& o) {
  std::vector<std::unique_ptr<Scorer>> scorers(o.threads);
  run_in_region(o, [&](unsigned thread, std::uint64_t sequences, bool is_warm) {
    if (is_warm) scorers[thread] = std::make_unique<Scorer>(sizes, o.seed + thread);
    Scorer& scorer = *scorers[thread];
    for (std::uint64_t i = 0; i < sequences; ++i) {
      const Sequence sequence = draw_sequence(scorer.profile, sizes.length, scorer.rng);
      const Score score = scorer.viterbi.score(sequence);
      scorer.best = std::max(scorer.best, score);
      scorer.total += score;
      if (o.verify && scorer.wrong.empty()) check(scorer, sequence, score);
    }
  });
  Score best = kImpossible;
  std::int64_t total = 0;
  for (const auto& scorer : scorers) {
    best = std::max(best, scorer->best);
    total += scorer->total;
    if (!scorer->wrong.empty()) throw WrongResult(scorer->wrong);
  }
  std::printf("hmm: %llu sequences, best score %.3f bits, total %.3f\n",
              static_cast<unsigned long long>(o.threads * (o.warm + o.work)), best / 1000.0,
              static_cast<double>(total) / 1000.0);
  if (o.verify) std::puts("hmm: verified");
}

}  // namespace
}  // namespace rubato::workloads::hmm

int main(int argc, char** argv) {
  using namespace rubato::workloads;
  rubato::CommandLine line("hmm",
                           "Scores of sequences by a profile hidden Markov model; each thread has its own");
  WorkloadOptions options;
  options.threads = 1;
  options.warm = 1;
  options.work = 2;
  hmm::Sizes sizes;
  add_workload_options(line, options, "sequences of each thread");
  line.add_option("--positions", sizes.positions, "Positions of the profile (default 1000)")
      .range(1U, 100000U);
  line.add_option("--length", sizes.length, "Residues of a sequence (default 150)").range(1U, 100000U);
  return workload_main(
      "hmm", line, [&] { hmm::run(sizes, options); }, argc, argv);
}
