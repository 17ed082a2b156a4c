// A thread of rubato-load: its connections, their requests and the outcomes.
//
// A request has an intended moment. In a closed loop that is when it is written; with a rate it is fixed
// before, and a request that the server's slowness keeps back counts from there (no coordinated omission).
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cached/load/latency.hpp"
#include "cached/load/wire.hpp"

namespace rubato::cached::load {

struct Outcome {
  Latencies gets, sets;
  std::uint64_t requests = 0, hits = 0, misses = 0, verified = 0, wrong = 0, errors = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  double seconds = 0;
  std::string first_problem;
  void merge(const Outcome& other);
};

/// A connected socket, and its TLS, if the plan wants it. Throws an Error of exit code 71 if there is no
/// server.
int connect_to(const Plan& plan, TlsClient* with, std::unique_ptr<TlsStream>& tls);

class Client {
 public:
  /// The thread's part of the connections, of `plan.keys` to fill, of the requests and of the rate.
  Client(const Plan& plan, unsigned thread, unsigned threads);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Stores the thread's part of all keys.
  Outcome fill();
  /// Asks for as long as the plan says; what was asked in the first `warm_up` seconds is not counted.
  Outcome run();

 private:
  struct Pending {
    std::uint64_t intended, key;
    unsigned keys_asked;  ///< 0: a set
    unsigned values = 0;
  };
  struct Connection {
    int descriptor = -1;
    std::unique_ptr<TlsStream> tls;  ///< null: none
    std::string out, in;
    std::size_t sent = 0, used = 0;
    std::deque<Pending> pending;
    std::uint64_t next_moment = 0;
    bool waits_for_room = false;
  };
  void serve();
  int sleep_until(std::uint64_t moment, std::uint64_t now);
  void write_due(Connection& c, std::uint64_t now);
  void write_request(Connection& c, std::uint64_t intended);
  void write_set(Connection& c, std::uint64_t key, std::uint64_t intended);
  bool may_write(const Connection& c, std::uint64_t now) const;
  void flush(Connection& c);
  void receive(Connection& c);
  void receive_once(Connection& c);
  bool read_part(Connection& c);
  void check(const Pending& request, const Part& part);
  void problem(std::uint64_t& count, std::string sentence);
  std::uint64_t next_due() const;

  static ssize_t send_part(Connection& c);
  static ssize_t receive_part(Connection& c, char* to, std::size_t n);
  static void close(Connection& c);

  const Plan& plan_;
  unsigned thread_, threads_;
  std::unique_ptr<Wire> wire_;
  Values values_;
  KeyChooser chooser_;
  Rng rng_;
  std::vector<Connection> connections_;
  int poll_, timer_;
  std::vector<std::string> keys_;
  Outcome outcome_;
  std::uint64_t count_from_ = 0, until_ = 0, left_ = 0, in_flight_ = 0, values_seen_ = 0, interval_ = 0;
  std::uint64_t fill_next_ = 0;
  unsigned most_in_flight_ = 1;
  bool filling_ = false;
};

}  // namespace rubato::cached::load
