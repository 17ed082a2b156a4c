// SPDX-License-Identifier: MIT
#include "native/lag/record.hpp"

#include "native/lag/formulas.hpp"

namespace rubato::inline v0::native::lag {

/// A wait ends when something arrives. The publication charges all of the delay nevertheless (E15); by our
/// rule waiting on from delay i - 1 to i costs 1/L of c only where nothing had come before.
unsigned decide(const Rules& rules, const Record& record) {
  const double step = 1.0 / rules.delays, all = record.samples;
  double best_gain = rules.is_as_published ? 0 : 2 * step;  // a margin, since samples are few
  unsigned best = 0;
  double arrived = 0, waited = 0;
  for (unsigned i = 1; i <= rules.delays; ++i) {
    waited += rules.is_as_published ? step : step * (1 - arrived / all);
    arrived += record.found[i];
    const double gain = arrived / all - waited;
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = i;
  }
  return best;
}

double rate(const Rules& rules, const Record& record) {
  if (record.samples == 0) return rules.initial_rate;
  return sampling_rate(rules.initial_rate, static_cast<double>(record.hits) / record.samples,
                       static_cast<double>(record.delay) / rules.delays);
}

}  // namespace rubato::inline v0::native::lag
