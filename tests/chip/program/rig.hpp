// Programs without a chip: their memory, processes and threads are real, and so is the memory system, which
// knows each program's tiles. There are no cores and no task units. The test plays the chip.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/config/config.hpp"
#include "chip/conflict/factory.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/program/programs.hpp"
#include "tests/chip/os/elf_image.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip::test {

struct ProgramRig : Program::Host {
  /// Cores of each program in the order of cores, two cores a tile; `symbols` are in all of them.
  explicit ProgramRig(
      const std::vector<std::uint32_t>& cores, std::uint32_t chip_cores = 8,
      const std::vector<ImageSymbol>& symbols = {},
      const std::function<void(Config&)>& change = [](Config&) {}) {
    config.chip.cores = chip_cores;
    config.chip.cores_per_tile = 2;
    change(config);
    config = resolve(config);
    mesh = make_mesh(config);
    conflicts = make_conflict_scheme(config, *mesh);
    hierarchy = make_memory_system(config, *mesh, *conflicts);
    write_elf_image(folder / "image", symbols);
    std::uint32_t first = 0;
    std::vector<ProgramPlace> places;
    for (const std::uint32_t count : cores) {
      ProgramPlace place;
      place.process.program = (folder / "image").string();
      place.process.stdin_fd = place.process.stdout_fd = place.process.stderr_fd = -1;
      place.process.log = [](const std::string&) {};
      place.first_core = std::exchange(first, first + count);
      place.cores = count;
      place.roi = config.run.roi;
      places.push_back(std::move(place));
    }
    programs.emplace(std::move(places), config, *conflicts, *hierarchy, *this);
  }

  Program& operator[](std::size_t number) { return (*programs)[number]; }
  Thread& main_thread(std::size_t program = 0) { return (*programs)[program].process.main_thread(); }

  /// `thread` makes the system call `number`. @returns what became of it.
  SyscallOutcome call(Program& program, Thread& thread, std::uint64_t number,
                      const std::vector<std::uint64_t>& arguments = {}) {
    thread.regs.x[reg::a7] = number;
    for (std::size_t i = 0; i < arguments.size(); ++i) thread.regs.x[reg::a0 + i] = arguments[i];
    return program.process.syscall(thread);
  }
  /// A new thread of the program, at its entry like the one that starts it.
  Thread& start_thread(std::size_t program = 0) {
    constexpr std::uint64_t kClone = 220, kThread = 0x50f00;
    call((*programs)[program], main_thread(program), kClone, {kThread, 0x1000, 0, 0, 0});
    Thread& started = *(*programs)[program].process.threads().back();
    main_thread(program).regs.pc = started.regs.pc = kImageEntry;
    return started;
  }

  // Program::Host
  void on_runnable(Program&, Thread& thread) override {
    runnable.push_back(thread.tid);
    if (when_runnable) when_runnable(thread);
  }
  void on_retry(Program&, const Thread*) override {}
  void on_signal(Program&, Thread&) override {}
  void on_marker(Program&, const Thread&, bool, const std::string&) override {}
  std::optional<Fault> host_call(Program&, Thread&, std::int32_t) override { return std::nullopt; }
  Cycle time() const override { return now; }
  LockTickets::Runner runner_of(CoreId) const override { return {}; }

  TemporaryFolder folder;
  Config config;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<ConflictScheme> conflicts;
  std::unique_ptr<MemoryHierarchy> hierarchy;
  std::optional<Programs> programs;
  Cycle now{};
  std::vector<int> runnable;  ///< threads that were announced
  std::function<void(Thread&)> when_runnable;
};

}  // namespace rubato::chip::test
