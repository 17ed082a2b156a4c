// A build without OpenSSL: options of TLS are refused.
// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "cached/tls/tls.hpp"

namespace rubato::cached {

const char* missing_for_tls() {
  return "this build has no TLS; install libssl-dev and build again, or put stunnel in front";
}

std::unique_ptr<TlsServer> make_tls_server(const TlsSettings&) {
  throw UsageError("-Z: {}", missing_for_tls());
}

std::unique_ptr<TlsClient> make_tls_client(const TlsClientSettings&) {
  throw UsageError("--tls: this build has no TLS; install libssl-dev and build again");
}

}  // namespace rubato::cached
