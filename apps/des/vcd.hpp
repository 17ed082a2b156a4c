// Writes waveforms as a Value Change Dump (IEEE 1364-2005, clause 18), which GTKWave opens.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "apps/des/simulation.hpp"

namespace rubato::apps {

/// All nets as one-bit wires of scope `scope`, from their values with all inputs 0 at time 0; `unit`:
/// that of times. `log` as in SimulationResult; `end` is the last time shown. The same bytes for the same
/// input: no date. @throws InputError if the file cannot be written.
void write_vcd(const std::string& path, const std::string& scope, const Circuit& circuit,
               const std::vector<Change>& log, std::uint64_t end, Resolution unit = Resolution::ps);

}  // namespace rubato::apps
