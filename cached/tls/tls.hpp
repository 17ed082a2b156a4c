// TLS for connections of the server and of rubato-load. The interface knows no library: openssl.cpp
// implements it, and absent.cpp stands in its place in a build without OpenSSL.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rubato::cached {

/// An end of a TLS connection, on a socket that it does not own. One thread at a time uses it.
class TlsStream {
 public:
  enum class Step : std::uint8_t { done, wants_read, wants_write, failed };

  /// Sends close_notify, if the connection is in order, and waits for nothing.
  virtual ~TlsStream() = default;
  /// A step of the handshake; nothing is received or sent before it is done.
  virtual Step handshake() = 0;
  /// As recv(): 0 at the end; -1 with errno EAGAIN if there is nothing yet.
  virtual ssize_t receive(char* to, std::size_t n) = 0;
  /// As send(). After EAGAIN the next call must offer the same bytes again, more may follow them.
  virtual ssize_t send(const char* from, std::size_t n) = 0;
  /// Whether bytes have been taken from the socket that `receive` has not returned. The socket's readiness
  /// does not report them.
  virtual bool holds_more() const = 0;
  /// The last `receive` must send something first: the answer to a change of keys.
  virtual bool receive_waits_for_room() const = 0;
  /// The last `send` must receive the rest of a handshake message first.
  virtual bool send_waits_for_input() const = 0;
};

/// Options of the server's TLS, under memcached's names without `ssl_`.
struct TlsSettings {
  bool enabled = false, session_cache = false, kernel_tls = false;
  std::string chain_cert, key, ciphers, ca_cert;
  unsigned verify_mode = 0;  ///< 0 none, 1 request, 2 require, 3 once
  unsigned keyformat = 1;    ///< 1 PEM, 2 DER
  unsigned min_version = 2;  ///< of TLS 1.x
  std::size_t wbuf_size = 16 << 10;
};

class TlsServer {
 public:
  virtual ~TlsServer() = default;
  /// From any thread. Errors: std::bad_alloc.
  virtual std::unique_ptr<TlsStream> accept(int descriptor) = 0;
  /// Reads the certificates and the key again, for connections to come. If one of them is wrong, all stay as
  /// they are, and the result is the error in memcached's words; else it is empty. From any thread.
  virtual std::string refresh() = 0;
  /// New sessions that clients may resume.
  virtual std::uint64_t new_sessions() const = 0;
  virtual void reset_statistics() = 0;
};

/// A sentence about what this build lacks for TLS, with the remedy; null: it has TLS.
const char* missing_for_tls();
/// Errors: UsageError of an option.
std::unique_ptr<TlsServer> make_tls_server(const TlsSettings& settings);

struct TlsClientSettings {
  bool enabled = false, insecure = false;  ///< `insecure`: any certificate will do
  std::string ca;                          ///< file of trusted certificates; empty: the system's
  std::string cert, key;                   ///< the client's own; may be empty
};

class TlsClient {
 public:
  virtual ~TlsClient() = default;
  /// Shakes hands with the server named `host` on a blocking socket. Errors: Error of exit code 71.
  virtual std::unique_ptr<TlsStream> connect(int descriptor, const std::string& host) = 0;
};

/// Errors: UsageError of an option.
std::unique_ptr<TlsClient> make_tls_client(const TlsClientSettings& settings);

}  // namespace rubato::cached
