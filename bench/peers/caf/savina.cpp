// The Savina suite's micro benchmarks and Fibonacci on CAF 0.17 (Debian's libcaf-dev): the same messages,
// sizes and checks as apps/savina, for bench/actors. Not part of Rubato.
// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include <atomic>
#include <caf/all.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using caf::actor;
using caf::actor_cast;
using caf::actor_system;
using caf::atom;
using caf::atom_constant;
using caf::behavior;
using caf::event_based_actor;

using begin_atom = atom_constant<atom("begin")>;
using ping = atom_constant<atom("ping")>;
using pong = atom_constant<atom("pong")>;
using again = atom_constant<atom("again")>;
using leave = atom_constant<atom("leave")>;
using increment = atom_constant<atom("increment")>;
using retrieve = atom_constant<atom("retrieve")>;
using total = atom_constant<atom("total")>;
using message_atom = atom_constant<atom("message")>;
using next_atom = atom_constant<atom("next")>;
using meet = atom_constant<atom("meet")>;
using met = atom_constant<atom("met")>;
using change = atom_constant<atom("change")>;
using count_atom = atom_constant<atom("count")>;
using done_atom = atom_constant<atom("done")>;
using neighbors = atom_constant<atom("neighbors")>;
using request_atom = atom_constant<atom("request")>;
using response = atom_constant<atom("response")>;

struct Sizes {
  std::uint64_t first = 0, second = 0;
};
/// Returns whether the result is right.
using Run = bool (*)(actor_system&, const Sizes&);

// ---- ping-pong ----

bool ping_pong(actor_system& system, const Sizes& sizes) {
  std::uint64_t pings = 0, pongs = 0;
  const actor ponger = system.spawn([&pings](event_based_actor* self) -> behavior {
    return {[self, &pings](ping, const actor& from) {
              ++pings;
              self->send(from, pong::value);
            },
            [self](leave) { self->quit(); }};
  });
  const actor pinger =
      system.spawn([&pongs, ponger, left = sizes.first](event_based_actor* self) mutable -> behavior {
        auto remaining = std::make_shared<std::uint64_t>(left);
        return {[self, ponger, remaining](again) {
                  self->send(ponger, ping::value, actor_cast<actor>(self));
                  --*remaining;
                },
                [self, ponger, remaining, &pongs](pong) {
                  ++pongs;
                  if (*remaining != 0) {
                    self->send(self, again::value);
                    return;
                  }
                  self->send(ponger, leave::value);
                  self->quit();
                }};
      });
  caf::anon_send(pinger, again::value);
  system.await_all_actors_done();
  return pings == sizes.first && pongs == sizes.first;
}

// ---- streaming ping-pong ----

bool streaming(actor_system& system, const Sizes& sizes) {
  std::uint64_t pings = 0, pongs = 0;
  const actor ponger = system.spawn([&pings, all = sizes.first](event_based_actor* self) -> behavior {
    return {[self, all, &pings](ping, const actor& from) {
      self->send(from, pong::value);
      if (++pings == all) self->quit();
    }};
  });
  system.spawn([&pongs, ponger, sizes](event_based_actor* self) -> behavior {
    auto to_send = std::make_shared<std::uint64_t>(sizes.first);
    const auto send_one = [self, ponger, to_send] {
      --*to_send;
      self->send(ponger, ping::value, actor_cast<actor>(self));
    };
    for (std::uint64_t i = 0; i < sizes.second && *to_send != 0; ++i) send_one();
    return {[self, send_one, to_send, all = sizes.first, &pongs](pong) {
      if (*to_send != 0) send_one();
      if (++pongs == all) self->quit();
    }};
  });
  system.await_all_actors_done();
  return pings == sizes.first && pongs == sizes.first;
}

// ---- counting ----

bool counting(actor_system& system, const Sizes& sizes) {
  std::uint64_t result = 0;
  const actor counter = system.spawn([](event_based_actor* self) -> behavior {
    auto count = std::make_shared<std::uint64_t>(0);
    return {[count](increment) { ++*count; },
            [self, count](retrieve, const actor& to) {
              self->send(to, total::value, *count);
              self->quit();
            }};
  });
  const actor producer =
      system.spawn([&result, counter, n = sizes.first](event_based_actor* self) -> behavior {
        return {[self, counter, n](begin_atom) {
                  for (std::uint64_t i = 0; i < n; ++i) self->send(counter, increment::value);
                  self->send(counter, retrieve::value, actor_cast<actor>(self));
                },
                [self, &result](total, std::uint64_t count) {
                  result = count;
                  self->quit();
                }};
      });
  caf::anon_send(producer, begin_atom::value);
  system.await_all_actors_done();
  return result == sizes.first;
}

// ---- fork-join ----

void compute() {
  const volatile double angle = 37.2;
  const volatile double sine = __builtin_sin(angle);
  static_cast<void>(sine);
}

bool throughput(actor_system& system, const Sizes& sizes) {
  std::vector<std::uint64_t> handled(sizes.second, 0);
  std::vector<actor> workers;
  for (std::uint64_t& count : handled) {
    workers.push_back(system.spawn([&count, n = sizes.first](event_based_actor* self) -> behavior {
      return {[self, &count, n](message_atom) {
        compute();
        if (++count == n) self->quit();
      }};
    }));
  }
  for (std::uint64_t i = 0; i < sizes.first; ++i) {
    for (const actor& worker : workers) caf::anon_send(worker, message_atom::value);
  }
  workers.clear();
  system.await_all_actors_done();
  for (const std::uint64_t count : handled) {
    if (count != sizes.first) return false;
  }
  return true;
}

bool creation(actor_system& system, const Sizes& sizes) {
  std::atomic<std::uint64_t> ended{0};
  for (std::uint64_t i = 0; i < sizes.first; ++i) {
    const actor worker = system.spawn([&ended](event_based_actor* self) -> behavior {
      return {[self, &ended](message_atom) {
        compute();
        ended.fetch_add(1, std::memory_order_relaxed);
        self->quit();
      }};
    });
    caf::anon_send(worker, message_atom::value);
  }
  system.await_all_actors_done();
  return ended == sizes.first;
}

// ---- thread ring ----

bool thread_ring(actor_system& system, const Sizes& sizes) {
  std::uint64_t pings = 0, last = 0;
  std::vector<actor> ring;
  for (std::uint64_t i = 0; i < sizes.first; ++i) {
    ring.push_back(
        system.spawn([&pings, &last, i, members = sizes.first](event_based_actor* self) -> behavior {
          auto next = std::make_shared<actor>();
          return {[next](next_atom, const actor& a) { *next = a; },
                  [self, next, &pings, &last, i, members](ping, std::uint64_t left) {
                    ++pings;
                    if (left != 0) {
                      self->send(*next, ping::value, left - 1);
                      return;
                    }
                    last = i;
                    self->send(*next, leave::value, members);
                  },
                  [self, next](leave, std::uint64_t left) {
                    if (left != 0) self->send(*next, leave::value, left - 1);
                    *next = actor();
                    self->quit();
                  }};
        }));
  }
  for (std::size_t i = 0; i < ring.size(); ++i)
    caf::anon_send(ring[i], next_atom::value, ring[(i + 1) % ring.size()]);
  caf::anon_send(ring[0], ping::value, sizes.second);
  ring.clear();
  system.await_all_actors_done();
  return pings == sizes.second + 1 && last == sizes.second % sizes.first;
}

// ---- chameneos ----

int complement(int a, int b) { return a == b ? a : 3 - a - b; }

bool chameneos(actor_system& system, const Sizes& sizes) {
  std::uint64_t result = 0;
  const actor place = system.spawn([&result, sizes](event_based_actor* self) -> behavior {
    struct State {
      actor waiting;
      std::uint64_t left, sum = 0, faded = 0;
    };
    auto s = std::make_shared<State>();
    s->left = sizes.second;
    return {[self, s](meet, int color, const actor& from) {
              if (s->left == 0) {
                self->send(from, leave::value);
              } else if (!s->waiting) {
                s->waiting = from;
              } else {
                --s->left;
                self->send(s->waiting, met::value, color, from);
                s->waiting = actor();
              }
            },
            [self, s, &result, creatures = sizes.first](count_atom, std::uint64_t meetings) {
              s->sum += meetings;
              if (++s->faded != creatures) return;
              result = s->sum;
              self->quit();
            }};
  });
  for (std::uint64_t i = 0; i < sizes.first; ++i) {
    system.spawn([place, i](event_based_actor* self) -> behavior {
      auto color = std::make_shared<int>(static_cast<int>(i % 3));
      auto meetings = std::make_shared<std::uint64_t>(0);
      self->send(place, meet::value, *color, actor_cast<actor>(self));
      return {[self, place, color, meetings](met, int other_color, const actor& other) {
                *color = complement(*color, other_color);
                self->send(other, change::value, *color);
                ++*meetings;
                self->send(place, meet::value, *color, actor_cast<actor>(self));
              },
              [self, place, color, meetings](change, int changed) {
                *color = changed;
                ++*meetings;
                self->send(place, meet::value, *color, actor_cast<actor>(self));
              },
              [self, place, meetings](leave) {
                self->send(place, count_atom::value, *meetings);
                self->quit();
              }};
    });
  }
  system.await_all_actors_done();
  return result == 2 * sizes.second;
}

// ---- big ----

bool big(actor_system& system, const Sizes& sizes) {
  const auto all = std::make_shared<std::vector<actor>>();
  std::atomic<std::uint64_t> pings{0}, wrong{0};
  const actor sink = system.spawn([all, workers = sizes.second](event_based_actor* self) -> behavior {
    auto left = std::make_shared<std::uint64_t>(workers);
    return {[self, all, left](done_atom) {
      if (--*left != 0) return;
      for (const actor& worker : *all) self->send(worker, leave::value);
      self->quit();
    }};
  });
  for (std::uint32_t i = 0; i < sizes.second; ++i) {
    all->push_back(
        system.spawn([all, sink, i, &pings, &wrong, n = sizes.first](event_based_actor* self) -> behavior {
          struct State {
            std::uint64_t random, left, pings = 0, wrong = 0;
            std::uint32_t asked = ~0u;
          };
          auto s = std::make_shared<State>();
          s->random = i;
          s->left = n;
          return {[self, all, s, i](ping, std::uint32_t from) {
                    ++s->pings;
                    self->send((*all)[from], pong::value, i);
                  },
                  [self, all, s, sink, i](pong, std::uint32_t from) {
                    if (from != s->asked) ++s->wrong;
                    if (s->left == 0) {
                      self->send(sink, done_atom::value);
                      return;
                    }
                    --s->left;
                    s->random = (s->random * 1309 + 13849) & 65535;
                    s->asked = static_cast<std::uint32_t>(s->random % all->size());
                    self->send((*all)[s->asked], ping::value, i);
                  },
                  [self, s, &pings, &wrong](leave) {
                    pings += s->pings;
                    wrong += s->wrong;
                    self->quit();
                  }};
        }));
  }
  const std::vector<actor> members = *all;
  for (const actor& member : members) caf::anon_send(member, pong::value, ~std::uint32_t{0});
  system.await_all_actors_done();
  all->clear();
  return pings == sizes.first * sizes.second && wrong == 0;
}

// ---- Fibonacci ----

behavior fibonacci_call(event_based_actor* self, const actor& parent, std::uint64_t* result) {
  struct State {
    std::uint64_t sum = 0;
    unsigned responses = 0;
  };
  auto s = std::make_shared<State>();
  const auto end = [self, parent, result](std::uint64_t value) {
    if (parent) {
      self->send(parent, response::value, value);
    } else {
      *result = value;
    }
    self->quit();
  };
  return {[self, end, result](request_atom, std::uint64_t n) {
            if (n <= 2) {
              end(1);
              return;
            }
            for (const std::uint64_t less : {1, 2}) {
              const actor child = self->spawn(fibonacci_call, actor_cast<actor>(self), result);
              self->send(child, request_atom::value, n - less);
            }
          },
          [s, end](response, std::uint64_t value) {
            s->sum += value;
            if (++s->responses == 2) end(s->sum);
          }};
}

bool fibonacci(actor_system& system, const Sizes& sizes) {
  std::uint64_t result = 0;
  caf::anon_send(system.spawn(fibonacci_call, actor(), &result), request_atom::value, sizes.first);
  system.await_all_actors_done();
  std::uint64_t a = 0, b = 1;
  for (std::uint64_t i = 0; i < sizes.first; ++i) std::swap(a += b, b);
  return result == a;
}

struct Benchmark {
  const char* name;
  Run run;
  Sizes sizes;
};
constexpr Benchmark kBenchmarks[] = {
    {"pingpong", ping_pong, {40'000, 0}},
    {"count", counting, {1'000'000, 0}},
    {"fjthrput", throughput, {10'000, 60}},
    {"fjcreate", creation, {40'000, 0}},
    {"threadring", thread_ring, {100, 100'000}},
    {"chameneos", chameneos, {100, 200'000}},
    {"big", big, {20'000, 120}},
    {"streaming", streaming, {25'000, 128}},
    {"fib", fibonacci, {25, 0}},
};

/// Peak memory of this program alone, in MB: getrusage() includes the process that started it.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kilobytes = 0;
    status >> kilobytes;
    return kilobytes / 1024;
  }
  return 0;
}

}  // namespace

/// savina NAME ITERATIONS THREADS stealing|sharing SIZE...
int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: savina NAME ITERATIONS THREADS stealing|sharing [SIZE]...\n");
    return 2;
  }
  for (const Benchmark& b : kBenchmarks) {
    if (std::strcmp(b.name, argv[1]) != 0) continue;
    Sizes sizes = b.sizes;
    if (argc > 5) sizes.first = std::strtoull(argv[5], nullptr, 10);
    if (argc > 6) sizes.second = std::strtoull(argv[6], nullptr, 10);
    caf::actor_system_config config;
    config.set("scheduler.max-threads", std::strtoull(argv[3], nullptr, 10));
    config.set("scheduler.policy", caf::atom_from_string(argv[4]));
    actor_system system{config};
    bool is_right = true;
    std::printf("{\"benchmark\": \"%s\", \"iterations\": [", b.name);
    for (long i = 0; i < std::strtol(argv[2], nullptr, 10); ++i) {
      const auto began = std::chrono::steady_clock::now();
      is_right = b.run(system, sizes) && is_right;
      std::printf("%s%.9f", i == 0 ? "" : ", ",
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    std::printf("], \"check\": \"%s\", \"cpu_seconds\": %.3f, \"peak_mb\": %.1f}\n",
                is_right ? "passed" : "failed", seconds(used.ru_utime) + seconds(used.ru_stime), peak_mb());
    return is_right ? 0 : 1;
  }
  std::fprintf(stderr, "savina: there is no benchmark %s\n", argv[1]);
  return 2;
}
