// The numbers of the analysis in the publication on speculative lagging (its Sec. 2), as the engine's own
// formulas and defaults give them. Prints one JSON object.
//   build/release/bin/bench_lag_numbers
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "native/lag/formulas.hpp"
#include "rubato/engine/native_options.hpp"

int main() {
  namespace lag = rubato::native::lag;
  const rubato::native::Lagging defaults;
  const unsigned samples = lag::sample_size(defaults.confidence, defaults.error);
  constexpr double kRate = 0.01, kHits = 0.9;  // phi0 and P of the publication's examples
  const double fixed = lag::messages_at_initial_rate(samples, kRate);
  const double most = lag::most_messages(samples, kRate, kHits);
  std::printf(
      "{\"samples\": %u, \"fixed\": %.2f, \"fewest\": %.2f, \"most\": %.2f, \"gain\": %.3f, \"mean\": %.2f, "
      "\"overhead_percent\": %.4f, \"most_overhead_percent\": %.4f}\n",
      samples, fixed, lag::fewest_messages(samples, kRate, kHits), most, fixed / most,
      lag::mean_messages(samples, kRate, kHits, false), 100 * (1 - lag::least_speed(kRate, 0)),
      100 * (1 - lag::least_speed(1, 0)));
  return 0;
}
