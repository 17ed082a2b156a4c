// The theory of speculative lagging [L] as functions, each tested against the publication's numbers. Where
// its text does not fit its own proofs or numbers, docs/native.md says how it is read (E4 to E15).
//
// c is what giving up costs; delays and times are in units of c. P is the probability that something arrives
// within a delay (a hit), phi the share of giving-ups at which is sampled.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::inline v0::native::lag {

/// Theorem 2, A37: samples that give the probability of a hit to within `error` at this confidence. The
/// quantile is that of (1 + confidence) / 2 (E11). Errors: std::invalid_argument outside of (0, 1).
unsigned sample_size(double confidence, double error);

/// Quantile of the normal distribution, 0 < probability < 1.
double normal_quantile(double probability);

/// Theorem 3: time with a lag of `delay` over time without, for messages that take `work`.
double efficiency(double delay, double work, double hit_probability);

/// Lemma 3, A41: the rate up to which sampling slows nothing down, between phi0 and 1 (E4).
double sampling_rate(double initial, double hit_probability, double delay);

/// Giving-ups until n samples are gathered: at the initial rate throughout, n / phi0.
double messages_at_initial_rate(unsigned samples, double initial);
/// Bound (9), as the proof has it: with (2 + 1/phi0)^-1 (E10).
double most_messages(unsigned samples, double initial, double hit_probability);
/// Bound (10) as it is cut there; a bound only as P goes to 0 (E12).
double fewest_messages(unsigned samples, double initial, double hit_probability);
/// The exact mean number of messages that the process of Theorem 4 needs, for a P that is the same each time.
/// @param samples_at_once  as the theorem has it; else the first sample, too, waits for the initial rate (E8)
double mean_messages(unsigned samples, double initial, double hit_probability, bool samples_at_once);

/// Bound (11) of the speed while sampling, relative to not sampling.
double least_speed(double initial, double hit_probability);

}  // namespace rubato::inline v0::native::lag
