// rubato-load: asks a server that speaks memcached's protocols, and says how fast and how right it answers.
// Exit codes: 0; 1 an error or a wrong value came back; 2 a wrong option; 71 no server.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/host_port.hpp"
#include "cached/load/client.hpp"

namespace {

using namespace rubato::cached::load;
using rubato::UsageError;

void read_sizes(const std::string& text, Plan& plan) {
  const std::size_t dash = text.find('-');
  try {
    std::size_t end = 0;
    plan.smallest_value = plan.largest_value = std::stoul(text, &end);
    if (dash != text.npos) plan.largest_value = std::stoul(text.substr(dash + 1), &end), end += dash + 1;
    if (end == text.size() && plan.smallest_value && plan.smallest_value <= plan.largest_value &&
        plan.largest_value <= std::size_t{1} << 30)
      return;
  } catch (const std::logic_error&) {  // no number: said below
  }
  throw UsageError("--value is a size or two, as 100 or 10-1000, not '{}'", text);
}

void read_address(const std::string& text, Plan& plan) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || !rubato::is_port(std::string_view(text).substr(colon + 1)))
    throw UsageError("the server is given as HOST:PORT with a port from 0 to 65535, not '{}'", text);
  plan.host = text.substr(0, colon), plan.port = text.substr(colon + 1);
  if (plan.host.size() > 2 && plan.host.front() == '[') plan.host = plan.host.substr(1, plan.host.size() - 2);
}

void check(const Plan& plan) {
  const auto least = std::to_string(plan.keys - 1).size() + 1;
  if (plan.key_size < least || plan.key_size > 250)
    throw UsageError("--key-size is {} to 250 bytes for {} keys, not {}", least, plan.keys, plan.key_size);
  if (plan.connections < plan.threads)
    throw UsageError("{} threads need {} connections at least, not {}", plan.threads, plan.threads,
                     plan.connections);
}

/// Calls f(client) for each in a thread of its own, and rethrows what one of them threw.
Outcome in_threads(std::vector<std::unique_ptr<Client>>& clients, const std::function<Outcome(Client&)>& f) {
  std::vector<Outcome> outcomes(clients.size());
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < clients.size(); ++n)
    threads.emplace_back([&, n] { outcomes[n] = f(*clients[n]); });
  for (std::thread& thread : threads) thread.join();
  Outcome sum;
  for (const Outcome& one : outcomes) sum.merge(one);
  return sum;
}

nlohmann::ordered_json latency_of(const Latencies& latencies) {
  const auto us = [](double nanoseconds) { return std::round(nanoseconds) / 1000; };
  nlohmann::ordered_json json{{"requests", latencies.count()}, {"mean", us(latencies.mean())}};
  for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}})
    json[name] = us(static_cast<double>(latencies.at_share(share)));
  json["max"] = us(static_cast<double>(latencies.most()));
  return json;
}

void print(const Outcome& outcome, bool as_json) {
  Latencies all = outcome.gets;
  all.merge(outcome.sets);
  const double rate = outcome.seconds > 0 ? static_cast<double>(outcome.requests) / outcome.seconds : 0;
  if (as_json) {
    const nlohmann::ordered_json json{
        {"requests", outcome.requests},
        {"seconds", outcome.seconds},
        {"requests_a_second", std::round(rate)},
        {"hits", outcome.hits},
        {"misses", outcome.misses},
        {"verified", outcome.verified},
        {"wrong_values", outcome.wrong},
        {"errors", outcome.errors},
        {"first_problem", outcome.first_problem},
        {"bytes_sent", outcome.bytes_sent},
        {"bytes_received", outcome.bytes_received},
        {"latency_us",
         {{"all", latency_of(all)}, {"get", latency_of(outcome.gets)}, {"set", latency_of(outcome.sets)}}}};
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::printf(
      "%.0f requests/s: %llu in %.2f s; %llu hits, %llu misses, %llu values verified, %llu wrong, %llu "
      "errors\n",
      rate, static_cast<unsigned long long>(outcome.requests), outcome.seconds,
      static_cast<unsigned long long>(outcome.hits), static_cast<unsigned long long>(outcome.misses),
      static_cast<unsigned long long>(outcome.verified), static_cast<unsigned long long>(outcome.wrong),
      static_cast<unsigned long long>(outcome.errors));
  for (const auto& [name, latencies] : {std::pair{"get", &outcome.gets}, {"set", &outcome.sets}}) {
    if (!latencies->count()) continue;
    const auto us = [&](double share) { return static_cast<double>(latencies->at_share(share)) / 1000; };
    std::printf("%s, us: mean %.1f, p50 %.1f, p90 %.1f, p99 %.1f, p99.9 %.1f, max %.1f\n", name,
                latencies->mean() / 1000, us(0.5), us(0.9), us(0.99), us(0.999),
                static_cast<double>(latencies->most()) / 1000);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  Plan plan;
  std::string address, value;
  bool as_json = false, no_fill = false;
  rubato::CommandLine line("rubato-load",
                           "rubato-load: asks a cache server, and says how fast and how right it answers",
                           "-h,--help", "Print this help message and exit");
  line.add_option("server", address, "HOST:PORT (127.0.0.1:11211)");
  line.add_option("--socket", plan.socket, "a socket in the file system, in place of HOST:PORT");
  line.add_choice<Protocol>(
      "--protocol", plan.protocol,
      {{"text", Protocol::text}, {"meta", Protocol::meta}, {"binary", Protocol::binary}}, "(text)");
  line.add_option("--threads", plan.threads, "that ask (1)").range(1, 1024);
  line.add_option("--connections", plan.connections, "in all (16)").range(1, 100000);
  line.add_option("--in-flight", plan.in_flight, "unanswered requests of a connection (1)").range(1, 1 << 20);
  line.add_option("--multiget", plan.keys_a_get, "keys a get (1)").range(1, 1 << 16);
  line.add_option("--keys", plan.keys, "different keys (100000)")
      .range(std::uint64_t{1}, std::uint64_t{1} << 32);
  line.add_option("--zipf", plan.zipf, "exponent of Zipf's law; 0: all keys alike (0)").range(0.0, 10.0);
  line.add_option("--sets", plan.sets, "their share of the requests (0.1)").range(0.0, 1.0);
  line.add_option("--key-size", plan.key_size, "bytes (16)");
  line.add_option("--value", value, "bytes, or from-to (100)");
  line.add_option("--rate", plan.rate, "requests a second at fixed moments; 0: the next when answered (0)")
      .range(0.0, 1e9);
  const auto seconds = line.add_option("--seconds", plan.seconds, "that are measured (10)").range(0.0, 1e6);
  line.add_option("--requests", plan.requests, "that are measured, in place of --seconds").excludes(seconds);
  line.add_option("--warm-up", plan.warm_up, "seconds before (0)").range(0.0, 1e6);
  line.add_option("--verify", plan.verify_every, "verify each n-th value; 0: none (16)");
  line.add_flag("--no-fill", no_fill, "do not store every key once before");
  line.add_option("--seed", plan.seed, "of keys, sizes and kinds (1)");
  line.add_flag("--json", as_json, "for a machine");
  const auto tls = line.add_flag("--tls", plan.tls.enabled, "by TLS; the server's certificate is verified");
  line.add_option("--tls-ca", plan.tls.ca, "file of certificates to trust (the system's)").needs(tls);
  line.add_flag("--tls-insecure", plan.tls.insecure, "trust every certificate").needs(tls);
  line.add_option("--tls-cert", plan.tls.cert, "file with the client's certificate (none)").needs(tls);
  line.add_option("--tls-key", plan.tls.key, "file with its key (that of --tls-cert)").needs(tls);
  try {
    if (!line.parse(argc, argv)) return 0;
  } catch (const rubato::CommandLineError& error) {
    throw UsageError("{}", error.what());
  }
  plan.fill = !no_fill;
  if (!address.empty()) read_address(address, plan);
  if (!value.empty()) read_sizes(value, plan);
  check(plan);

  std::signal(SIGPIPE, SIG_IGN);  // a connection by TLS that the server closed; the error says so
  std::vector<std::unique_ptr<Client>> clients;
  for (unsigned n = 0; n < plan.threads; ++n)
    clients.push_back(std::make_unique<Client>(plan, n, plan.threads));
  Outcome filled;
  if (plan.fill) filled = in_threads(clients, &Client::fill);
  Outcome outcome = filled.errors ? filled : in_threads(clients, &Client::run);
  print(outcome, as_json);
  if (!outcome.errors && !outcome.wrong) return 0;
  std::fprintf(stderr, "rubato-load: %s\n", outcome.first_problem.c_str());
  return 1;
} catch (const rubato::Error& error) {
  std::fprintf(stderr, "rubato-load: %s\n", error.what());
  return static_cast<int>(error.code());
}
