// SPDX-License-Identifier: MIT OR Apache-2.0
// margay::only<A, B>::type is int where A is B, and nothing else: for templates that take one type, which need not be complete.
#ifndef MARGAY_ONLY_H
#define MARGAY_ONLY_H
namespace margay {
template <class A, class B> struct only {};
template <class A> struct only<A, A> {
  typedef int type;
};
} // namespace margay
#endif
