// Two actors that answer each other: bin/ping_pong-native, bin/ping_pong-serial.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/actors.hpp"

using namespace rubato;

struct Pong {};
struct Ping {
  actor<Pong> from;  // handles travel in messages: one word each
};

struct Player : behavior<Ping> {  // what it understands; anything else does not compile
  void on(Ping ping) { ping.from.send(Pong{}); }
};

struct Starter : behavior<Pong> {
  Starter(actor<Ping> other, int rounds) : other_(other), left_(rounds) { other_.send(Ping{self()}); }
  void on(Pong) {
    if (--left_ > 0) return other_.send(Ping{self()});
    std::puts("done");
    other_.stop(), stop();
  }
  actor<Ping> other_;
  int left_;
};

int main() {
  const actor<Ping> player = spawn<Player>();
  spawn<Starter>({.name = "starter"}, player, 40'000);
  run();  // returns when no message, turn, timer, task or hold is left
}
