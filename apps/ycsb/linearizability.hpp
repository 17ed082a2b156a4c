// Linearizability (Herlihy and Wing 1990): is there an order of the requests for one key, within the times
// that each took, in which every answer is right? Keys are independent: a history is linearizable if that of
// every key is.
//
// Four ways, tried in this order; the first three decide histories of any length:
//   counter   lookups and additions of 1: the answers say the order.
//   register  lookups, updates and insertions, every value written once: by zones (Gibbons and Korach,
//             "Testing shared memories", 1997). The requests that write or read one value form a cluster;
//             clusters follow each other whole.
//   life      lookups, at most one insertion that finds nothing, then one removal that finds something: two
//             moments are to be found, of birth and of death.
//   search    everything else: all orders, with the configurations that failed remembered (Wing and
//             Gong 1993, Lowe 2017); may give up.
// An update is a write of which only is_found is checked, not which value it replaced.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/ycsb/operation.hpp"

namespace rubato::apps::ycsb {

/// Request for the key. It took effect at a moment from `invoked` to `responded`.
struct KeyEvent {
  std::uint64_t invoked = 0;
  std::uint64_t responded = 0;
  Kind kind = Kind::lookup;  ///< lookup, insert, update, remove, add
  Value argument = 0;
  Answer answer;
};

/// The value of the key, if it is there.
using KeyState = std::optional<Value>;

enum class Verdict : std::uint8_t { linearizable, not_linearizable, undecided };

struct Judgement {
  Verdict verdict = Verdict::linearizable;
  std::string reason;  ///< in words, unless linearizable
};

/// The events in any order; responded >= invoked.
Judgement check_key(std::span<const KeyEvent> events, KeyState initial);

/// The last way alone. @param budget configurations to visit before giving up
Judgement check_key_by_search(std::span<const KeyEvent> events, KeyState initial,
                              std::uint64_t budget = 2'000'000);

}  // namespace rubato::apps::ycsb
