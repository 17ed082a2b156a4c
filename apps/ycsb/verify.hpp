// Verification of a run: did it do what its requests say? (R15)
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "apps/ycsb/variant.hpp"

namespace rubato::apps::ycsb {

/// Compares tree and recorded history with the requests, all of which have been answered:
///   - the tree's invariants hold, and its keys are those of the records loaded and inserted, without those
///     removed;
///   - for every key, an order explains all answers and the final value: so a value that was found was
///     written to that key and not yet replaced by a write that had ended, and no increment is lost;
///   - a scan's pairs ascend, come from the keys' histories, and leave out no key that was there all the
///     time.
/// @returns the first thing that is wrong, in words; empty if nothing is.
std::string verify(const WorkloadOptions& workload, std::span<const Request> requests,
                   const Recorder& recorder, const Variant& variant);

/// A line for each request: its number, kind, key, argument, times in nanoseconds, whether the key was found,
/// the answer's value. InputError if the file cannot be written.
void write_history(const std::string& file, std::span<const Request> requests, const Recorder& recorder);

}  // namespace rubato::apps::ycsb
