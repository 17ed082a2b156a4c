// SPDX-License-Identifier: MIT
#include "chip/alloc/allocation_sites.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "chip/os/wait_names.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t bit(unsigned x) { return 1U << x; }

}  // namespace

AllocationSites::AllocationSites(const Symbols& symbols, const AddressSpace& memory, isa::BlockCache& code,
                                 std::pair<Addr, Addr> heap)
    : symbols_(symbols),
      memory_(memory),
      code_(code),
      heap_(heap),
      functions_(allocator_functions(symbols)),
      walk_(symbols, memory) {
  if (!functions_.empty()) set_notes({});
}

void AllocationSites::set_notes(const std::vector<Addr>& more) {
  std::unordered_set<Addr> entries, all(more.begin(), more.end());
  for (const auto& [entry, function] : functions_) entries.insert(entry);
  all.insert(entries.begin(), entries.end());
  code_.set_notes(std::move(all), *this, std::move(entries));
}

std::string_view AllocationSites::blindness() const {
  if (symbols_.empty()) return "the program has no symbols";
  if (functions_.empty()) return "the program has no function with the name of an allocator's";
  return {};
}

// ---- Calls ----

void AllocationSites::on_note(Addr pc, const HartState& hart, std::uint32_t awaited) {
  if (const auto function = functions_.find(pc); function != functions_.end())
    return on_call(function->second, hart, awaited);
  Call& call = call_of(hart.x[reg::tp]);
  if (call.return_address == pc && call.sp == hart.x[reg::sp] && call.thread == hart.x[reg::tp])
    on_return(call, hart, awaited);
}

void AllocationSites::on_call(const AllocatorFunction& function, const HartState& hart,
                              std::uint32_t awaited) {
  const Addr return_address = hart.x[reg::ra];
  // A value that is under way is not known here, and the block is not.
  if ((awaited & (function.arguments() | bit(reg::ra))) != 0) return;
  const Caller& caller = caller_at(return_address);
  if (function.maps ? caller.maps_inside : caller.is_inside) return;
  if (!notes(return_address)) return;
  call_of(hart.x[reg::tp]) = {.thread = hart.x[reg::tp],
                              .return_address = return_address,
                              .sp = hart.x[reg::sp],
                              .bytes = function.asked(hart),
                              .result_at = function.stores_result ? hart.x[reg::a0] : 0,
                              .maps = function.maps};
}

bool AllocationSites::notes(Addr return_address) {
  if (code_.notes().contains(return_address)) return true;
  if (learned_ == kMostLearned) return false;
  ++learned_;
  code_.add_note(return_address);
  return true;
}

void AllocationSites::on_return(Call& call, const HartState& hart, std::uint32_t awaited) {
  const FrameWalk::Place place{call.return_address, call.sp};
  call.return_address = 0;
  if ((awaited & bit(reg::a0)) != 0) return;
  Addr block = hart.x[reg::a0];
  if (call.result_at != 0) {
    if (block != 0 || !memory_.allows(call.result_at, sizeof(Addr), Page::kRead)) return;
    block = memory_.load<Addr>(call.result_at);
  }
  add(block, call.bytes, place, call.maps);
}

void AllocationSites::on_served(const HartState& before, Addr block) {
  const auto function = functions_.find(before.pc);
  if (function == functions_.end()) return;
  add(block, function->second.asked(before), {before.x[reg::ra], before.x[reg::sp]}, false);
}

void AllocationSites::add(Addr block, std::uint64_t bytes, const FrameWalk::Place& place, bool maps) {
  // 0 and the kernel's errors are no blocks; of 0 bytes an allocator makes one all the same.
  if (!is_heap(block) || bytes > heap_.second - block) return;
  const AllocatedBlock made{block, std::max<std::uint64_t>(bytes, 1), site_of(place, maps)};
  if (listener_ != nullptr) listener_->before_block(made);
  blocks_.add(made);
}

// ---- Sites ----

const AllocationSites::Caller& AllocationSites::caller_at(Addr pc) {
  const auto [known, is_new] = callers_.try_emplace(pc);
  Caller& caller = known->second;
  if (!is_new) return caller;
  const Symbols::Symbol* const symbol = symbols_.at(pc - 1);
  if (symbol == nullptr || !symbol->is_function) return caller;
  caller.is_function = true;
  const bool is_allocator = functions_.contains(symbol->address);
  caller.is_inside = is_allocator || is_inside_allocator(symbols_, symbol->raw, false);
  caller.maps_inside = is_allocator || is_inside_allocator(symbols_, symbol->raw, true);
  const Called called{pc - 1, Symbols::name(*symbol), symbols_.has_source(pc - 1)};
  const std::string own = own_name(called.function);
  caller.is_library = user_frame({&called, 1}) != 0 || is_of_library(own);
  caller.is_passed = caller.is_library || is_allocation_wrapper(own);
  return caller;
}

std::uint32_t AllocationSites::site_of(const FrameWalk::Place& place, bool maps) {
  std::pair<Chain, bool> key{{}, maps};
  std::size_t count = 0;
  for (std::optional<FrameWalk::Place> at = place; at && count < kMostFrames; at = walk_.caller_of(*at)) {
    const Caller& caller = caller_at(at->pc);
    if (count != 0 && !caller.is_function) break;  // a thread begins here
    key.first[count++] = at->pc - 1;
    if (!caller.is_passed) break;
  }
  const auto [known, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (!is_new) return known->second;
  Site& site = sites_.emplace_back();
  site.maps = maps;
  site.calls.assign(key.first.begin(), key.first.begin() + static_cast<std::ptrdiff_t>(count));
  // The first call of interest; if the walk has ended before it, the first in the user's code, or the first.
  const auto first = [&](auto&& is_wanted) {
    return static_cast<std::size_t>(std::find_if(site.calls.begin(), site.calls.end(),
                                                 [&](Addr a) { return is_wanted(caller_at(a + 1)); }) -
                                    site.calls.begin());
  };
  site.user = first([](const Caller& caller) { return !caller.is_passed; });
  if (site.user == count) site.user = first([](const Caller& caller) { return !caller.is_library; });
  if (site.user == count) site.user = 0;
  return known->second;
}

}  // namespace rubato::chip
