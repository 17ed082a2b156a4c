// Complex numbers whose product is the four products and no more: std::complex's takes care of infinities.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::workloads::ft {

struct Complex {
  double re, im;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
  bool operator==(const Complex&) const = default;
};

}  // namespace rubato::workloads::ft
