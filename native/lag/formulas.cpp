// SPDX-License-Identifier: MIT
#include "native/lag/formulas.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace rubato::inline v0::native::lag {

/// By bisection of the distribution function: it is asked for once a run of the engine.
double normal_quantile(double probability) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    if (std::erfc(-middle / std::numbers::sqrt2) / 2 < probability) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

unsigned sample_size(double confidence, double error) {
  if (!(confidence > 0 && confidence < 1 && error > 0 && error < 1))
    throw std::invalid_argument("confidence and error of a sample lie between 0 and 1");
  const double z = normal_quantile((1 + confidence) / 2);
  return static_cast<unsigned>(std::ceil(z * z / (4 * error * error)));
}

double efficiency(double delay, double work, double hit_probability) {
  return 1 + (delay - hit_probability) / (1 + work);
}

double sampling_rate(double initial, double hit_probability, double delay) {
  const double miss = 1 - hit_probability;
  if (miss <= 0) return 1;
  return std::max(initial, std::min(1.0, (hit_probability - delay) / (miss * miss)));
}

double messages_at_initial_rate(unsigned samples, double initial) { return samples / initial; }

double most_messages(unsigned samples, double initial, double hit_probability) {
  double harmonic = 0;
  for (unsigned i = 1; i <= samples; ++i) harmonic += 1.0 / i;
  const double n = samples, miss = 1 - hit_probability, gap = 1 / initial;
  return 1 + gap * (1 + 1 / (2 + gap)) * n * miss + n * harmonic * miss + n;
}

double fewest_messages(unsigned samples, double initial, double hit_probability) {
  return samples * hit_probability + samples / initial * (1 - hit_probability);
}

/// Over the hits among the samples so far, whose distribution goes from sample to sample.
double mean_messages(unsigned samples, double initial, double hit_probability, bool samples_at_once) {
  std::vector<double> of_hits(samples + 1, 0);
  of_hits[0] = 1;
  double messages = samples_at_once ? 1 : 1 / initial;
  for (unsigned sampled = 1; sampled < samples; ++sampled) {
    for (unsigned hits = sampled; hits > 0; --hits)
      of_hits[hits] = of_hits[hits] * (1 - hit_probability) + of_hits[hits - 1] * hit_probability;
    of_hits[0] *= 1 - hit_probability;
    for (unsigned hits = 0; hits <= sampled; ++hits)
      messages += of_hits[hits] / sampling_rate(initial, static_cast<double>(hits) / sampled, 0);
  }
  return messages;
}

double least_speed(double initial, double hit_probability) {
  const double miss = 1 - hit_probability;
  return 1 - miss / (1 + miss / initial);
}

}  // namespace rubato::inline v0::native::lag
