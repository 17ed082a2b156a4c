// A program on the chip (K80): its memory, process, decoded blocks, fast-forward, heap, and the threads that
// wait for its cores. A chip has one, or several side by side, which share caches, network and memory but not
// an address. Programs know cores by their own numbers, from 0.
//
// A program runs nothing by itself. The chip runs it, and receives the program's requests through Host.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "chip/alloc/allocation_sites.hpp"
#include "chip/alloc/heap_calls.hpp"
#include "chip/capsule/vector.hpp"
#include "chip/config/config.hpp"
#include "chip/config/region_names.hpp"
#include "chip/conflict/conflict_scheme.hpp"
#include "chip/conflict/system_call_checks.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/call_stack.hpp"
#include "chip/os/fast_forward.hpp"
#include "chip/os/guest_space.hpp"
#include "chip/os/lock_tickets.hpp"
#include "chip/os/process.hpp"
#include "chip/os/thread_profile.hpp"
#include "chip/os/thread_scheduler.hpp"
#include "chip/program/fast_forward_watch.hpp"
#include "chip/program/program_place.hpp"
#include "chip/program/warm_up.hpp"
#include "chip/run.hpp"

namespace rubato::chip {

/// A program uses the task model if it has this symbol: the function that holds the region instruction.
inline constexpr std::string_view kTaskRegionSymbol = "rubato_task_region";
/// The function that serial_region() of a program with tasks calls: the code that its tasks are compared
/// with.
inline constexpr std::string_view kSerialRegionSymbol = "rubato_serial_region";
/// The function that calls it for threads_region().
inline constexpr std::string_view kThreadsRegionSymbol = "rubato_threads_region";

/// Numbers of the memory of further processes. Lower ones are the program's, and those of addresses behind
/// guest memory: spill areas, undo logs and records of handlers.
struct GuestNumbers {
  static constexpr std::uint32_t kFirst = 4;
  static constexpr std::uint64_t kDefaultMost = 256;
};

struct Program final : ThreadObserver, GuestClock, FastForward::HostCalls {
  /// The chip, as its programs tell it; see ThreadObserver and FastForward::HostCalls.
  class Host {
   public:
    virtual ~Host() = default;
    virtual void on_runnable(Program&, Thread& thread) = 0;
    virtual void on_retry(Program&, const Thread* thread) = 0;
    virtual void on_signal(Program&, Thread& thread) = 0;
    virtual void on_marker(Program&, const Thread& thread, bool begins, const std::string& name) = 0;
    virtual void on_ended(Program&, Thread&) {}
    virtual std::string why_no_processes(const Program&) const { return {}; }
    /// Numbers below this tell the memory of programs and processes apart (MemoryHierarchy::fewest_sets).
    virtual std::uint64_t most_numbers() const { return GuestNumbers::kDefaultMost; }
    /// The last process has left `space`, which goes now.
    virtual void on_unused(Program&, GuestSpace&) {}
    virtual std::optional<Fault> host_call(Program&, Thread& thread, std::int32_t function) = 0;
    /// The cycle of the chip's clock.
    virtual Cycle time() const = 0;
    /// The task or thread on the core, by which lock tickets are drawn.
    virtual LockTickets::Runner runner_of(CoreId core) const = 0;
  };

  /// Progress of the program. A program alone is `ahead` and `inside` in turns; side by side, the phases
  /// follow one another.
  enum class Phase : std::uint8_t {
    ahead,   ///< in fast-forward, to its region of interest
    there,   ///< at its region, until the others are at theirs (K82)
    inside,  ///< in detail
    behind,  ///< its region is over: to its end in fast-forward, when no program is in detail
    over,    ///< it has ended
  };

  /// @throws UsageError if the program cannot be loaded, or lacks the function that its region is to be.
  Program(std::uint32_t number, ProgramPlace where, const Config& config, const ConflictScheme& conflicts,
          MemorySystem& memory_system, Host& host);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() override { is_closing_ = true; }

  // ---- Its cores ----

  CoreId first_core() const { return CoreId{place.first_core}; }
  bool has(CoreId core) const { return core.value - place.first_core < place.cores; }
  /// Its own number of a core of the chip.
  CoreId own(CoreId core) const { return CoreId{core.value - place.first_core}; }

  /// A line of its own, as the memory system knows it (K81).
  LineAddr outer(LineAddr own) const { return line_of_program(number, own); }

  bool is_in_detail() const { return phase == Phase::inside; }
  /// Detail begins somewhere behind the start of the program, or nowhere.
  bool has_region() const { return roi || has_tasks || detail_at_markers || is_fast_forwarded; }
  /// The mode of a program with tasks whose region `at_region` has just called: "serial" or "threads" for
  /// code that it measures in place of tasks, else empty.
  std::string_view untasked_mode(const Thread& at_region) const;
  /// Fault of the region of interest of a program that has ended: one sentence without a full stop, or empty.
  std::string fault_of_region() const;
  /// The last path component of its file.
  std::string name() const;
  /// "program 2 (hmm)": for sentences.
  std::string title() const;
  /// How it ended, if it did by itself.
  RunOutcome outcome_of_exit() const;

  /// The instructions executed in detail so far count, and no later ones.
  void count(Cycle now, std::uint64_t executed) {
    if (std::exchange(is_counted, true)) return;
    cycles = now.value;
    instructions = executed;
  }

  /// From now on: the blocks that it allocates are known, and the places that ask for them.
  AllocationSites& watch_allocations() {
    return allocations.emplace(process.symbols(), memory, blocks, process.heap());
  }

  // ---- What its process asks ----

  void on_runnable(Thread& thread) override { host.on_runnable(*this, thread); }
  void on_retry(const Thread* thread) override { host.on_retry(*this, thread); }
  void on_signal(Thread& thread) override { host.on_signal(*this, thread); }
  void on_affinity(Thread& thread) override { host.on_signal(*this, thread); }
  void on_ended(Thread& thread) override { host.on_ended(*this, thread); }
  std::string why_no_processes() const override { return host.why_no_processes(*this); }
  std::shared_ptr<GuestSpace> make_space(std::string& why) override;
  void on_marker(const Thread& thread, bool begins, const std::string& region) override {
    host.on_marker(*this, thread, begins, region);
  }
  std::optional<Fault> host_call(Thread& thread, std::int32_t function) override {
    return host.host_call(*this, thread, function);
  }
  /// Its time stands still while it waits for others, and behind its region.
  std::uint64_t nanoseconds() const override {
    const Cycle at = phase == Phase::behind || phase == Phase::over ? left_at : host.time();
    return fast_forward.nanoseconds() + at.value * 1000 / frequency_mhz;
  }
  std::uint64_t cpu_nanoseconds(const Thread& thread) const override {
    const std::uint64_t on_cores = thread.core_cycles + thread.cycles_until(host.time());
    return GuestClock::cpu_nanoseconds(thread) + on_cores * 1000 / frequency_mhz;
  }

  const std::uint32_t number;  ///< from 0
  const ProgramPlace place;
  const std::uint64_t frequency_mhz;
  Host& host;
  AddressSpace memory;
  CapsuleVector capsule_vector{memory};
  isa::BlockCache blocks{memory};
  SystemCallChecks system_calls;
  std::map<std::uint32_t, GuestSpace*> spaces;  ///< of further processes, by number
  Process process;
  std::optional<HeapCalls> heap;               // run.alloc=ideal
  std::optional<AllocationSites> allocations;  // run.contention
  FastForward fast_forward;
  ThreadScheduler scheduler;
  WarmUp warm_up;
  std::optional<FastForwardWatch> untimed_watch;
  LockTickets lock_tickets{memory, process.lock_marks(),
                           [this](CoreId core) { return host.runner_of(core); }};
  ThreadProfile profile{place.cores};
  CallChains call_chains{process.symbols(), memory};

  const bool has_tasks;                ///< the program uses the task model
  const bool detail_at_markers;        ///< its region is what it marks
  const bool is_fast_forwarded;        ///< it has no region
  const std::optional<Addr> roi;       ///< the function that is its region
  std::set<std::string> open_regions;  ///< that it has marked
  Phase phase = Phase::ahead;
  bool was_in_detail = false;      ///< since the program began, or was restored
  bool is_leaving = false;         ///< over, but its cores have not left it yet
  const Thread* caller = nullptr;  ///< of `roi`, that has just called it
  Cycle timeout_scheduled = kNever;
  /// Side by side: how it ended, and of its detail the cycle of its end and what it did until then.
  RunOutcome outcome;
  bool is_counted = false;  ///< it has executed run.instructions, or its detail is over
  Cycle left_at{};
  std::uint64_t cycles = 0, instructions = 0;

 private:
  std::optional<Addr> find_roi(const Config& config) const;

  bool is_closing_ = false;
};

}  // namespace rubato::chip
