// SPDX-License-Identifier: MIT
#include "chip/chip_debug.hpp"

#include <algorithm>
#include <cstring>

#include "chip/os/fault_report.hpp"

namespace rubato::chip {
namespace {

// Signal numbers of Linux.
constexpr int kSigInt = 2, kSigTrap = 5, kSigSegv = 11;

constexpr std::uint32_t kEbreak = 0x00100073;
constexpr std::uint16_t kCompressedEbreak = 0x9002;

}  // namespace

GdbServer::Wish ChipDebug::serve(Thread& thread, int signal) {
  const GdbServer::Wish wish = server_.stopped(*this, thread.tid, signal);
  is_detached_ = wish == GdbServer::Wish::detach;
  return wish;
}

bool ChipDebug::begin() { return serve(process_.main_thread(), kSigTrap) != GdbServer::Wish::end; }

ChipDebug::After ChipDebug::stop(Thread& thread, const Fault& fault) {
  if (is_detached_) return After::as_without;
  faulted_ = &thread;
  const GdbServer::Wish wish = serve(thread, signal_of(fault.kind));
  faulted_ = nullptr;
  if (wish == GdbServer::Wish::end) return After::end;
  if (thread.regs.pc != fault.pc) return After::resume;  // the user moved it
  if (fault.kind != FaultKind::breakpoint) return After::as_without;
  // At a breakpoint of the debugger the program's instruction is back in memory, to be stepped over. An
  // ebreak that is still there belongs to the program.
  const bool is_own =
      memory_.load<std::uint16_t>(fault.pc) == kCompressedEbreak ||
      (memory_.allows(fault.pc, 4, Page::kMapped) && memory_.load<std::uint32_t>(fault.pc) == kEbreak);
  return is_own ? After::as_without : After::resume;
}

bool ChipDebug::look() {
  if (is_detached_ || !server_.is_interrupted()) return true;
  const auto& threads = process_.threads();
  const auto runs = std::find_if(threads.begin(), threads.end(),
                                 [](const auto& thread) { return thread->state == ThreadState::runnable; });
  Thread& thread = runs != threads.end() ? **runs : process_.main_thread();
  return serve(thread, kSigInt) != GdbServer::Wish::end;
}

void ChipDebug::end(const RunOutcome& outcome, std::optional<int> death_signal) {
  const bool is_fault = outcome.code == ExitCode::guest_fault && !death_signal;
  server_.ended(outcome.guest_status, death_signal.value_or(is_fault ? kSigSegv : 0));
}

Thread* ChipDebug::find(int tid) const {
  for (const auto& thread : process_.threads())
    if (thread->tid == tid && thread->state != ThreadState::exited) return thread.get();
  return nullptr;
}

std::vector<int> ChipDebug::threads() const {
  std::vector<int> tids;
  for (const auto& thread : process_.threads())
    if (thread->state != ThreadState::exited) tids.push_back(thread->tid);
  return tids;
}

const Core* ChipDebug::runs_on(const Thread& thread) const {
  return &thread == faulted_ ? nullptr : core_of_(thread);
}

const HartState* ChipDebug::registers(int tid) const {
  const Thread* const thread = find(tid);
  if (thread == nullptr) return nullptr;
  const Core* const core = runs_on(*thread);
  return core != nullptr ? &core->pipeline().hart() : &thread->regs;
}

bool ChipDebug::set_registers(int tid, const HartState& registers) {
  Thread* const thread = find(tid);
  if (thread == nullptr || runs_on(*thread) != nullptr) return false;
  thread->regs = registers;
  return true;
}

std::size_t ChipDebug::read(Addr address, std::span<std::byte> bytes) const {
  std::size_t count = 0;
  while (count < bytes.size() && memory_.allows(address + count, 1, Page::kMapped)) {
    const std::uint64_t in_page = AddressSpace::kPageBytes - ((address + count) & AddressSpace::kPageMask);
    const std::size_t part = std::min<std::size_t>(in_page, bytes.size() - count);
    std::memcpy(&bytes[count], memory_.host(address + count), part);
    count += part;
  }
  return count;
}

bool ChipDebug::write(Addr address, std::span<const std::byte> bytes) {
  if (bytes.empty()) return true;
  if (!memory_.all_mapped(address & ~AddressSpace::kPageMask,
                          ((address & AddressSpace::kPageMask) + bytes.size() + AddressSpace::kPageMask) &
                              ~AddressSpace::kPageMask) ||
      !memory_.host_can_write(address, bytes.size()))
    return false;
  std::memcpy(memory_.host(address), bytes.data(), bytes.size());
  on_code_change_();
  return true;
}

}  // namespace rubato::chip
