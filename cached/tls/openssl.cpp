// TLS by OpenSSL (T99).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>

#include "base/error.hpp"
#include "cached/tls/tls.hpp"

namespace rubato::cached {

namespace {

constexpr ExitCode kNoServer = ExitCode{71};

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using ContextPointer = std::unique_ptr<SSL_CTX, Free>;
using SslPointer = std::unique_ptr<SSL, Free>;

/// Words of the first error of this thread, and forgets all of them.
std::string first_error() {
  const unsigned long error = ERR_get_error();
  char text[256] = "";
  ERR_error_string_n(error, text, sizeof text);
  ERR_clear_error();
  return error ? text : "no error is known";
}
/// The same in short, for a person.
std::string first_reason() {
  const unsigned long error = ERR_peek_error();
  const char* const reason =
      ERR_SYSTEM_ERROR(error) ? std::strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
  const std::string all = first_error();
  return reason ? reason : all;
}

// ---- Streams ----------------------------------------------------------------------------------------------

class Stream : public TlsStream {
 public:
  explicit Stream(SslPointer ssl) : ssl_(std::move(ssl)) {}
  ~Stream() override {
    if (is_broken_ || !SSL_is_init_finished(ssl_.get())) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }

  Step handshake() override {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    if (done == 1) return Step::done;
    switch (SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ:
        return Step::wants_read;
      case SSL_ERROR_WANT_WRITE:
        return Step::wants_write;
      default:
        is_broken_ = true;
        return Step::failed;
    }
  }

  // As many records as have arrived and fit.
  ssize_t receive(char* to, std::size_t n) override {
    std::size_t all = 0, got = 0;
    ERR_clear_error();
    do {
      const int done = SSL_read_ex(ssl_.get(), to + all, n - all, &got);
      waits_for_room_ = false;
      if (done == 1) {
        all += got;
        continue;
      }
      const int error = SSL_get_error(ssl_.get(), done);
      is_drained_ = error == SSL_ERROR_WANT_READ;
      waits_for_room_ = error == SSL_ERROR_WANT_WRITE;
      if (!all) return refused(error);
      has_ended_ = !is_drained_ && !waits_for_room_;  // which the next call returns
      return static_cast<ssize_t>(all);
    } while (all < n && SSL_has_pending(ssl_.get()));
    is_drained_ = false;
    return static_cast<ssize_t>(all);
  }

  ssize_t send(const char* from, std::size_t n) override {
    std::size_t sent = 0;
    ERR_clear_error();
    waits_for_input_ = false;
    const int done = SSL_write_ex(ssl_.get(), from, n, &sent);
    if (done == 1) return static_cast<ssize_t>(sent);
    const int error = SSL_get_error(ssl_.get(), done);
    waits_for_input_ = error == SSL_ERROR_WANT_READ;
    return error == SSL_ERROR_ZERO_RETURN ? refused(SSL_ERROR_SSL) : refused(error);
  }

  bool holds_more() const override { return has_ended_ || (!is_drained_ && SSL_has_pending(ssl_.get())); }
  bool receive_waits_for_room() const override { return waits_for_room_; }
  bool send_waits_for_input() const override { return waits_for_input_; }

 protected:
  SSL* ssl() const { return ssl_.get(); }
  void fail() { is_broken_ = true; }

 private:
  ssize_t refused(int error) {
    switch (error) {
      case SSL_ERROR_ZERO_RETURN:
        return 0;
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
      default:
        is_broken_ = true;
        errno = EPROTO;
        return -1;
    }
  }

  SslPointer ssl_;
  bool is_broken_ = false, waits_for_room_ = false, waits_for_input_ = false;
  /// The library's buffer has no whole record: `SSL_has_pending` counts a part of one, too.
  bool is_drained_ = false;
  bool has_ended_ = false;
};

/// The server's end: it tells a client without TLS what is wrong, also if the client sent less than the
/// library wants to see before it says so.
class ServerStream final : public Stream {
 public:
  using Stream::Stream;

  Step handshake() override {
    if (!has_begun_) {
      unsigned char first = 0;
      const int descriptor = SSL_get_fd(ssl());
      const ssize_t got = ::recv(descriptor, &first, 1, MSG_PEEK);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Step::wants_read;
      has_begun_ = true;
      // Kinds of records; the library answers those that come too early.
      constexpr unsigned char kFirstKind = 20, kLastKind = 24, kOldHello = 0x80;
      if (got == 1 && (first < kFirstKind || first > kLastKind) && first < kOldHello) {
        fail();
        discard(descriptor);
        constexpr std::string_view kSentence = "SERVER_ERROR this port takes TLS only\r\n";
        [[maybe_unused]] const ssize_t sent =
            ::send(descriptor, kSentence.data(), kSentence.size(), MSG_NOSIGNAL);
        return Step::failed;
      }
    }
    const Step step = Stream::handshake();
    if (step == Step::failed) discard(SSL_get_fd(ssl()));
    return step;
  }

 private:
  /// A socket that is closed with something unread resets the connection, and the client may lose the reason.
  static void discard(int descriptor) {
    char bytes[4096];
    while (::recv(descriptor, bytes, sizeof bytes, 0) > 0) {
    }
  }
  bool has_begun_ = false;
};

/// A context with what both ends need.
ContextPointer new_context(const SSL_METHOD* method) {
  ContextPointer context(SSL_CTX_new(method));
  if (!context) throw std::bad_alloc();
  // Idle connections give their buffers back. A send that was refused is repeated from where the bytes are
  // then.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Lengths of requests and answers are explicit, so that an end without close_notify hides nothing.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_read_ahead(context.get(), 1);  // one system call for header and body of a record
  // A key with a passphrase is an error: a server has no terminal to ask at.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  return context;
}

SslPointer new_ssl(SSL_CTX* context, int descriptor) {
  SslPointer ssl(SSL_new(context));
  if (!ssl || SSL_set_fd(ssl.get(), descriptor) != 1) throw std::bad_alloc();
  return ssl;
}

// ---- The server -------------------------------------------------------------------------------------------

/// An option that OpenSSL refused.
struct Refusal {
  std::string_view what, option;
  std::string value;
};

class Server final : public TlsServer {
 public:
  explicit Server(const TlsSettings& settings) : settings_(settings) {
    Refusal refusal;
    ContextPointer context = make(refusal);
    if (!context)
      throw UsageError("-o {}: cannot take {} '{}': {}", refusal.option, refusal.what, refusal.value,
                       first_reason());
    context_ = std::move(context);
  }

  std::unique_ptr<TlsStream> accept(int descriptor) override {
    SslPointer ssl;
    {
      std::lock_guard guard(mutex_);
      ssl = new_ssl(context_.get(), descriptor);
    }
    SSL_set_accept_state(ssl.get());
    return std::make_unique<ServerStream>(std::move(ssl));
  }

  std::string refresh() override {
    Refusal refusal;
    ContextPointer context = make(refusal);
    if (!context) return fmt::format("Error loading {}: {} : {}", refusal.what, refusal.value, first_error());
    std::lock_guard guard(mutex_);
    context_.swap(context);
    return {};
  }

  std::uint64_t new_sessions() const override { return new_sessions_.load(std::memory_order_relaxed); }
  void reset_statistics() override { new_sessions_.store(0, std::memory_order_relaxed); }

 private:
  /// Null: a file was refused; OpenSSL's errors of this thread say why.
  ContextPointer make(Refusal& refusal) {
    ERR_clear_error();
    ContextPointer made = new_context(TLS_server_method());
    SSL_CTX* const context = made.get();
    constexpr int kVersions[] = {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
    SSL_CTX_set_min_proto_version(context, kVersions[settings_.min_version]);
    constexpr int kModes[] = {SSL_VERIFY_NONE, SSL_VERIFY_PEER,
                              SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                              SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT | SSL_VERIFY_CLIENT_ONCE};
    SSL_CTX_set_verify(context, kModes[settings_.verify_mode], nullptr);
    set_sessions(context);
#ifdef SSL_OP_ENABLE_KTLS
    if (settings_.kernel_tls) SSL_CTX_set_options(context, SSL_OP_ENABLE_KTLS);
#endif
    return load(context, refusal) ? std::move(made) : nullptr;
  }

  void set_sessions(SSL_CTX* context) {
    constexpr unsigned char kScope[] = "rubato-cached";
    SSL_CTX_set_session_id_context(context, kScope, sizeof kScope - 1);
    if (!settings_.session_cache) {
      SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
      SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
      SSL_CTX_set_num_tickets(context, 0);
      return;
    }
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_SERVER);
    SSL_CTX_set_app_data(context, this);
    SSL_CTX_sess_set_new_cb(context, [](SSL* ssl, SSL_SESSION*) {
      auto* const server = static_cast<Server*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
      server->new_sessions_.fetch_add(1, std::memory_order_relaxed);
      return 0;  // the session stays the library's
    });
  }

  bool load(SSL_CTX* context, Refusal& refusal) const {
    const std::string& key = settings_.key.empty() ? settings_.chain_cert : settings_.key;
    const int format = settings_.keyformat == 2 ? SSL_FILETYPE_ASN1 : SSL_FILETYPE_PEM;
    if (SSL_CTX_use_certificate_chain_file(context, settings_.chain_cert.c_str()) != 1) {
      refusal = {"the certificate chain", "ssl_chain_cert", settings_.chain_cert};
      return false;
    }
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), format) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
      refusal = {"the key", "ssl_key", key};
      return false;
    }
    const std::string& ciphers = settings_.ciphers;
    if (!ciphers.empty() && SSL_CTX_set_cipher_list(context, ciphers.c_str()) != 1) {
      refusal = {"the ciphers", "ssl_ciphers", ciphers};
      return false;
    }
    if (settings_.ca_cert.empty()) return true;
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(settings_.ca_cert.c_str());
    if (!names || SSL_CTX_load_verify_locations(context, settings_.ca_cert.c_str(), nullptr) != 1) {
      sk_X509_NAME_pop_free(names, X509_NAME_free);
      refusal = {"the CA certificate", "ssl_ca_cert", settings_.ca_cert};
      return false;
    }
    SSL_CTX_set_client_CA_list(context, names);  // owns the names
    return true;
  }

  const TlsSettings settings_;
  std::atomic<std::uint64_t> new_sessions_{0};
  std::mutex mutex_;
  ContextPointer context_;
};

// ---- The client -------------------------------------------------------------------------------------------

class Client final : public TlsClient {
 public:
  explicit Client(const TlsClientSettings& settings)
      : settings_(settings), context_(new_context(TLS_client_method())) {
    SSL_CTX* const context = context_.get();
    ERR_clear_error();
    const bool trusts = settings.ca.empty()
                            ? SSL_CTX_set_default_verify_paths(context) == 1
                            : SSL_CTX_load_verify_locations(context, settings.ca.c_str(), nullptr) == 1;
    if (!trusts)
      throw UsageError("--tls-ca: cannot take certificates from '{}': {}", settings.ca, first_reason());
    if (!settings.insecure) SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    if (settings.cert.empty()) return;
    const std::string& key = settings.key.empty() ? settings.cert : settings.key;
    if (SSL_CTX_use_certificate_chain_file(context, settings.cert.c_str()) != 1)
      throw UsageError("--tls-cert: cannot take a certificate from '{}': {}", settings.cert, first_reason());
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
      throw UsageError("--tls-key: cannot take the certificate's key from '{}': {}", key, first_reason());
  }

  std::unique_ptr<TlsStream> connect(int descriptor, const std::string& host) override {
    SslPointer ssl = new_ssl(context_.get(), descriptor);
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) {
      // The macro for this has a cast of C.
      SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(host.c_str()));
      X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), 0);
    }
    SSL_set_connect_state(ssl.get());
    SSL* const raw = ssl.get();
    auto stream = std::make_unique<Stream>(std::move(ssl));
    // A server without TLS may wait for the rest of what it takes for a request.
    set_timeout(descriptor, kPatience);
    const TlsStream::Step step = stream->handshake();
    set_timeout(descriptor, 0);
    if (step == TlsStream::Step::done) return stream;
    if (step != TlsStream::Step::failed)
      throw Error(kNoServer, fmt::format("no answer to the handshake of TLS within {} seconds", kPatience));
    const long verified = SSL_get_verify_result(raw);
    throw Error(kNoServer, fmt::format("the handshake of TLS fails: {}",
                                       verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                                             : first_reason()));
  }

 private:
  static constexpr int kPatience = 10;
  static void set_timeout(int descriptor, int seconds) {
    const timeval limit{seconds, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  TlsClientSettings settings_;
  ContextPointer context_;
};

}  // namespace

const char* missing_for_tls() { return nullptr; }

std::unique_ptr<TlsServer> make_tls_server(const TlsSettings& settings) {
  return std::make_unique<Server>(settings);
}

std::unique_ptr<TlsClient> make_tls_client(const TlsClientSettings& settings) {
  return std::make_unique<Client>(settings);
}

}  // namespace rubato::cached
