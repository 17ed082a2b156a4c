// The groups of keys, a function each: it appends the keys of its section, in the order of Config. A new key
// is one line in the group of its section.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "chip/config/schema.hpp"

namespace rubato::chip {

void add_chip_keys(std::vector<Key>& k);
void add_core_keys(std::vector<Key>& k);
void add_cache_keys(std::vector<Key>& k);  ///< l1i, l1d, l2 and llc
void add_coherence_keys(std::vector<Key>& k);
void add_network_keys(std::vector<Key>& k);  ///< net
void add_memory_keys(std::vector<Key>& k);   ///< mem
void add_disk_keys(std::vector<Key>& k);
void add_task_keys(std::vector<Key>& k);
void add_conflict_keys(std::vector<Key>& k);
void add_arbiter_keys(std::vector<Key>& k);
void add_energy_keys(std::vector<Key>& k);
void add_run_keys(std::vector<Key>& k);

}  // namespace rubato::chip
