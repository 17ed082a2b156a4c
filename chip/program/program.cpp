// SPDX-License-Identifier: MIT
#include "chip/program/program.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "chip/os/fault_report.hpp"

namespace rubato::chip {

Program::Program(std::uint32_t its_number, ProgramPlace where, const Config& config,
                 const ConflictScheme& conflicts, MemorySystem& memory_system, Host& its_host)
    : number(its_number),
      place(std::move(where)),
      frequency_mhz(config.chip.frequency_mhz),
      host(its_host),
      memory(std::uint64_t{1} << config.run.address_bits),
      system_calls(conflicts),
      process(place.process, memory, *this),
      fast_forward(process, memory, blocks, config.run.quantum),
      scheduler(place.cores),
      warm_up(memory_system, first_core(), place.cores),
      has_tasks(process.symbols().find(kTaskRegionSymbol).has_value()),
      detail_at_markers(place.roi == kAtMarkers),
      is_fast_forwarded(place.roi == kNowhere),
      roi(find_roi(config)) {
  if (!config.task.capsules) memory.track_all();
  if (config.run.warm) fast_forward.observe(&warm_up);
  process.set_observer(this);
  if (config.run.alloc == "ideal") {
    heap.emplace(process, memory, place.cores);
    heap->observe_accesses(&system_calls);
    blocks.set_host_calls(heap->entries());
    fast_forward.serve(this);
  }
  process.observe_accesses(&system_calls);
  memory.observe(&system_calls);
}

std::optional<Addr> Program::find_roi(const Config& config) const {
  if (place.roi.empty()) {
    if (!config.run.fast_forward) return std::nullopt;
    return process.symbols().find(has_tasks ? kSerialRegionSymbol : "main");
  }
  if (!config.run.fast_forward)
    throw UsageError(
        "run.roi (--roi) simulates one function in detail, run.fast_forward=false (--no-ff) everything: "
        "give one of them");
  if (detail_at_markers || is_fast_forwarded) return std::nullopt;
  const std::optional<Addr> found = process.symbols().find(place.roi);
  if (!found)
    throw UsageError(
        "run.roi: the program has no symbol '{}' (nm lists its symbols; a stripped program has none)",
        place.roi);
  return found;
}

std::shared_ptr<GuestSpace> Program::make_space(std::string& why) {
  std::uint32_t own = GuestNumbers::kFirst;
  while (spaces.contains(own)) ++own;
  if (own >= host.most_numbers()) {
    why = fmt::format(
        "{} processes with memory of their own run, and the tags of the caches tell no more apart (they have "
        "32 "
        "bits; more sets in l2.size, llc.size and coherence.capacity tell more)",
        spaces.size());
    return nullptr;
  }
  auto made = std::make_unique<GuestSpace>(own, memory.size());
  if (memory.tracks_all()) made->memory.track_all();
  made->memory.observe(&system_calls);
  spaces.emplace(own, made.get());
  return {made.release(), [this](GuestSpace* space) {
            const std::unique_ptr<GuestSpace> owned(space);
            if (is_closing_) return;
            host.on_unused(*this, *space);
            spaces.erase(space->number);
          }};
}

std::string Program::fault_of_region() const {
  if (is_fast_forwarded) return {};
  if (!place.roi.empty() && !was_in_detail)
    return detail_at_markers
               ? "nothing was measured: the program marks no region (run.roi is @markers)"
               : fmt::format("nothing was measured: the program never called {} (run.roi)", place.roi);
  if (!open_regions.empty())
    return fmt::format("the region '{}' did not end: it is counted to the end of the program",
                       *open_regions.begin());
  if (roi && !place.roi.empty() && is_in_detail())
    return fmt::format(
        "the program ended inside {} (run.roi): the region is counted to the end of the program", place.roi);
  return {};
}

std::string_view Program::untasked_mode(const Thread& at_region) const {
  const Symbols& symbols = process.symbols();
  if (!has_tasks || roi != symbols.find_function(kSerialRegionSymbol)) return {};
  const Symbols::Symbol* const from = symbols.at(at_region.regs.x[reg::ra] - 1);
  if (from != nullptr && from->raw == kThreadsRegionSymbol) return "threads";
  return process.threads().size() == 1 ? "serial" : "";
}

std::string Program::name() const {
  const std::string& path = place.process.program;
  return path.substr(path.find_last_of('/') + 1);
}

std::string Program::title() const { return fmt::format("program {} ({})", number + 1, name()); }

RunOutcome Program::outcome_of_exit() const {
  if (const auto signal = process.death_signal())
    return {ExitCode::guest_fault, 128 + *signal, describe_death(*signal), {}};
  if (const int status = process.exit_status(); status != 0)
    return {ExitCode::check_failed, status, fmt::format("the program exited with status {}", status), {}};
  return {};
}

}  // namespace rubato::chip
