// The server: listeners, workers, maintainers, signals; what commands of administration reach.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cached/maintenance/maintainers.hpp"
#include "cached/memory_file/memory_file.hpp"
#include "cached/net/worker.hpp"
#include "cached/protocol/report.hpp"
#include "cached/tls/tls.hpp"

namespace rubato::cached {

class Server final : public Service, public ConnectionKeeper {
 public:
  // Each throws an Error of base/error.hpp if that is not possible.
  explicit Server(Settings& settings);
  ~Server() override;
  /// Takes the ports, which no client can connect to yet.
  void bind();
  /// As the user that serves: opens the file in which items outlive the server (-e), if there is one.
  void open_memory_file();
  /// Takes its items back, and then lets clients connect.
  void open();
  /// Until a signal or `shutdown` ends it; returns the exit code.
  int run();

  bool report(std::string_view group, const StatSink& sink) override;
  void reset_statistics() override;
  void end(bool graceful) override;
  bool crawl(std::uint64_t classes) override { return maintainers_.crawl(classes); }
  bool crawler_enabled() const override { return maintainers_.crawler_enabled(); }
  bool enable_crawler(bool on) override { return maintainers_.enable_crawler(on); }
  MoveResult reassign(unsigned from, unsigned to) override { return maintainers_.reassign(from, to); }
  std::string refresh_certificates() override;
  bool authenticates(std::string_view user, std::string_view password) override;
  void connection_closed() override { --current_; }

 private:
  /// The kind of connections that a listener accepts.
  enum class ListenerKind : std::uint8_t { plain, tls, metrics };
  struct Listener {
    Server* server;
    int descriptor;
    ListenerKind kind;
    std::string name;
    std::unique_ptr<Loop::Watch> watch;
  };
  void close_listeners();
  void save_items();
  void add_listener(int descriptor, std::string name, ListenerKind kind);
  void listen_on(const std::string& address, int port, ListenerKind kind);
  void listen_on_socket();
  void say_ports();
  void take_signals();
  void drop_privileges();
  static void acceptable(void* listener, int events);
  void accept_from(Listener& listener);
  void accept_one(int descriptor, TlsServer* tls);
  void pause_accepting(bool pause);
  /// If there is room for a connection.
  void resume_accepting();
  bool read_users();
  ServerNumbers numbers();

  Settings& settings_;
  std::unique_ptr<MemoryFile> memory_file_;  ///< null without -e
  std::atomic<bool> graceful_{false};        ///< the stop that was asked for
  Clock clock_;
  EventLog log_;
  std::unique_ptr<CacheEngine> engine_;
  PrefixCounts prefixes_;
  Context context_;
  Maintainers maintainers_;
  std::unique_ptr<TlsServer> tls_;  ///< null without -Z
  std::atomic<std::uint32_t> certificates_read_{0};
  Loop loop_;
  // While paused: descriptors may become free by other ways than a connection's end.
  static constexpr unsigned kPause = 10;  // milliseconds
  Loop::Alarm look_again_{loop_, [this] { resume_accepting(); }};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::size_t next_worker_ = 0;
  std::atomic<int> current_{0};
  Counter total_, rejected_, disabled_, disabled_us_;
  bool paused_ = false;
  std::uint64_t paused_since_ = 0;
  std::mutex users_mutex_;
  std::map<std::string, std::string, std::less<>> users_;
};

}  // namespace rubato::cached
