// SPDX-License-Identifier: MIT
#include "chip/alloc/allocation_checkpoint.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace rubato::chip {
namespace {

void save_site(CheckpointWriter& file, const AllocationSites::Site& site) {
  file.number(site.calls.size());
  for (const Addr call : site.calls) file.number(call);
  file.number(site.user);
  file.number(site.maps ? 1 : 0);
}

AllocationSites::Site read_site(CheckpointReader& file) {
  AllocationSites::Site site;
  const std::uint64_t count = file.number();
  if (count == 0 || count > AllocationSites::kMostFrames) file.refuse_damaged();
  for (std::uint64_t i = 0; i < count; ++i) site.calls.push_back(file.number());
  site.user = file.number();
  if (site.user >= count) file.refuse_damaged();
  site.maps = file.number() != 0;
  return site;
}

void save_call(CheckpointWriter& file, const AllocationSites::Call& call) {
  for (const std::uint64_t number : {call.thread, call.return_address, call.sp, call.bytes, call.result_at})
    file.number(number);
  file.number(call.maps ? 1 : 0);
}

AllocationSites::Call read_call(CheckpointReader& file) {
  AllocationSites::Call call;
  for (std::uint64_t* const number :
       {&call.thread, &call.return_address, &call.sp, &call.bytes, &call.result_at})
    *number = file.number();
  call.maps = file.number() != 0;
  return call;
}

}  // namespace

AllocationSites::Saved AllocationSites::saved() const {
  Saved all{.sites = sites_,
            .blocks = blocks_.in(0, ~Addr{0}),
            .calls = {},
            .notes = {code_.notes().begin(), code_.notes().end()},
            .learned = learned_};
  std::copy_if(calls_.begin(), calls_.end(), std::back_inserter(all.calls),
               [](const Call& call) { return call.return_address != 0; });
  std::sort(all.notes.begin(), all.notes.end());
  return all;
}

void AllocationSites::restore(Saved saved) {
  if (functions_.empty()) return;  // then there is none
  sites_ = std::move(saved.sites);
  for (std::uint32_t number = 0; number < sites_.size(); ++number) {
    std::pair<Chain, bool> key{{}, sites_[number].maps};
    std::copy(sites_[number].calls.begin(), sites_[number].calls.end(), key.first.begin());
    numbers_.emplace(key, number);
  }
  for (const AllocatedBlock& block : saved.blocks) blocks_.add(block);
  for (const Call& call : saved.calls) call_of(call.thread) = call;
  learned_ = saved.learned;
  set_notes(saved.notes);
}

void save_allocations(CheckpointWriter& file, const AllocationSites::Saved& saved) {
  file.number(saved.sites.size());
  for (const AllocationSites::Site& site : saved.sites) save_site(file, site);
  file.number(saved.blocks.size());
  for (const AllocatedBlock& block : saved.blocks)
    for (const std::uint64_t number : {block.begin, block.bytes, std::uint64_t{block.site}})
      file.number(number);
  file.number(saved.calls.size());
  for (const AllocationSites::Call& call : saved.calls) save_call(file, call);
  file.number(saved.notes.size());
  for (const Addr place : saved.notes) file.number(place);
  file.number(saved.learned);
}

AllocationSites::Saved read_allocations(CheckpointReader& file) {
  AllocationSites::Saved saved;
  for (std::uint64_t left = file.number(); left != 0; --left) saved.sites.push_back(read_site(file));
  for (std::uint64_t left = file.number(); left != 0; --left) {
    const Addr begin = file.number();
    const std::uint64_t bytes = file.number(), site = file.number();
    if (bytes == 0 || bytes > ~begin || site >= saved.sites.size()) file.refuse_damaged();
    saved.blocks.push_back({begin, bytes, static_cast<std::uint32_t>(site)});
  }
  for (std::uint64_t left = file.number(); left != 0; --left) saved.calls.push_back(read_call(file));
  for (std::uint64_t left = file.number(); left != 0; --left) saved.notes.push_back(file.number());
  saved.learned = file.number();
  return saved;
}

}  // namespace rubato::chip
