// SPDX-License-Identifier: MIT
#include "tests/actor_programs/outside.hpp"

#include <chrono>
#include <memory>
#include <string>

#include "tests/actor_programs/actors.hpp"

namespace actor_programs {
namespace {

#if defined(RUBATO_ENGINE_NATIVE)
constexpr bool kHasThreads = true;
#else
constexpr bool kHasThreads = false;
#endif

/// Part of the program that a thread plays.
class Part {
 public:
  Part(std::uint64_t seed, unsigned thread)
      : random_(mix64(seed * 8 + thread + 1)), pauses_(random_() + 1), from_(kMembers + thread) {}

  void play() {
    for (std::uint64_t left = 1 + random_.below(24); left != 0; --left) {
      pause();
      act();
    }
  }

 private:
  /// Pause of any length: the run may begin meanwhile, and workers fall asleep.
  void pause() {
    const std::uint64_t chosen = pauses_.below(16);
    if (!kHasThreads || chosen < 10) return;
    if (chosen < 14) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(pauses_.below(60)));
  }

  void act() {
    const std::uint64_t key = random_();
    const auto depth = static_cast<std::uint32_t>(random_.below(4));
    switch (random_.below(12)) {
      case 0:
        return ask_member(key);
      case 1:
        return spawn_child(key, depth);
      case 2:
        return kill_mortal(key);
      case 3:
        return pulse_sink(random_);
      case 4:
      case 5:
      case 6:
        return replace_shared(key);
      case 7:
      case 8:
      case 9:
        return send_to_shared(key);
      default:
        return send_job(key, depth, from_, numbers_);
    }
  }

  /// Now and then it blocks for the answer.
  static void ask_member(std::uint64_t key) {
    const Member& member = cast->members[mix64(key) % kMembers];
    if (!kHasThreads || mix64(key + 7) % 2 == 0) return ask(member, key, true);
    ++state->asked;
    try {
      const std::uint64_t value = member.ask(Question{key, std::make_unique<std::uint64_t>(key)}).get();
      note_answer(key, true, value);
    } catch (const TaskError& e) {
      ++state->answers;
      const auto error = error_of(key, true);
      if (!error || std::string(e.what()).find(errors::ask_error(*error)) == std::string::npos)
        state->violate(std::string("an ask of a thread outside fails: ") + e.what());
    }
  }

  /// Spawns a child, which may stop by itself while jobs for it are on their way.
  static void spawn_child(std::uint64_t key, std::uint32_t depth) {
    Rng random(key);
    const auto stops_after = static_cast<std::uint32_t>(random.below(2) == 0 ? 1 + random.below(4) : 0);
    const auto jobs = static_cast<std::uint32_t>(random.below(6));
    const auto child = spawn<Child>(
        {.urgent = random.below(4) == 0, .turn_messages = static_cast<std::uint32_t>(random.below(3))},
        stops_after);
    for (std::uint32_t i = 1; i <= jobs; ++i) {
      ++state->jobs;
      child.send(Job{random(), depth, kUnnumbered, i, false});
    }
    child.stop();
    ++state->jobs;
    child.send(Job{random(), depth, kUnnumbered, jobs + 1, false});
    ask(child, random(), false);
  }

  Rng random_, pauses_;
  const std::uint32_t from_;
  Numbers numbers_;
};

void play(std::uint64_t seed, unsigned thread) {
  try {
    Part(seed, thread).play();
  } catch (const TaskError& e) {
    state->violate(std::string("a thread outside is refused: ") + e.what());
  }
}

}  // namespace

unsigned threads_of(std::uint64_t seed) {
  constexpr unsigned kProgramsAThreaded = 3;
  Rng random(mix64(seed ^ 0x6f75747369646521));
  return random.below(kProgramsAThreaded) != 0 ? 0 : 1 + static_cast<unsigned>(random.below(kMostThreads));
}

Outside::Outside(std::uint64_t seed, unsigned threads) {
  for (unsigned t = 0; t < threads; ++t) {
#if defined(RUBATO_ENGINE_NATIVE)
    threads_.emplace_back([seed, t, hold = native::hold()]() mutable {
      play(seed, t);
      hold.close();
    });
#else
    play(seed, t);
#endif
  }
}

}  // namespace actor_programs
