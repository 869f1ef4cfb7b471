// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of addresses and indices that differ from lane to lane.
//!
//! With mask registers (AVX-512) each lane is compared and the bits are looked at once. Without them (AVX2) a comparison
//! of 64 bits is three instructions a vector and its bits are more; there what the lanes have is put together first: an OR
//! of all distances tells whether one is beyond 32 bits or not aligned, a maximum of their low halves the rest. Lanes that
//! do not run have a distance of 0.

use super::memory::{Access, Place};
use super::value::{Addr, Val};
use super::{Gen, vector_of};
use crate::shape::LANES;
use margay_ir::{Class, Space};

impl Gen<'_> {
    /// Checks 64-bit addresses. `short`: fewer than 2^32 places are good.
    pub(super) fn each(
        &mut self,
        a: &Access,
        address: &Val,
        (lo, lim, host): (String, String, Option<String>),
        short: bool,
        slow: &str,
    ) -> Place {
        let bytes = a.bytes() as i64;
        let name = self.spread(address, Class::D);
        let offset = self.splat("i64", &a.offset.to_string());
        let mut at = self.ins(format!("add <32 x i64> {name}, {offset}"));
        let base = self.splat("i64", &lo);
        let joined = self.lone_lanes && short;
        if joined && !self.all() {
            let lanes = self.lanes();
            at = self.ins(format!("select <32 x i1> {lanes}, <32 x i64> {at}, <32 x i64> {base}"));
        }
        let from = self.ins(format!("sub <32 x i64> {at}, {base}"));
        let mut ok = match joined {
            true => self.all_below(&from, &lim, bytes),
            false => self.each_below(&from, &lim, bytes),
        };
        if bytes > 1 && a.space != Space::Shared {
            let odd = self.ins(format!("and i64 {lo}, {}", bytes - 1));
            let even = self.ins(format!("icmp eq i64 {odd}, 0"));
            ok = self.ins(format!("and i1 {ok}, {even}"));
        }
        self.expect_inside(&ok, slow);
        let mut good = lo;
        if let Some(host) = &host {
            let all = self.splat("i64", host);
            at = self.ins(format!("add <32 x i64> {at}, {all}"));
            good = self.ins(format!("add i64 {good}, {host}"));
        }
        Place::Each { at, good: Some(good), everywhere: joined }
    }

    /// Whether distances are below a limit and multiples of `bytes`, lane by lane.
    pub(super) fn each_below(&mut self, from: &str, lim: &str, bytes: i64) -> String {
        // Turned so that what is not aligned becomes large.
        let k = bytes.trailing_zeros();
        let (mut turned, mut most) = (from.to_owned(), lim.to_owned());
        if k > 0 {
            self.declare(
                "declare <32 x i64> @llvm.fshr.v32i64(<32 x i64>, <32 x i64>, <32 x i64>)",
            );
            turned = self.ins(format!(
                "call <32 x i64> @llvm.fshr.v32i64(<32 x i64> {turned}, <32 x i64> {turned}, \
                 <32 x i64> splat (i64 {k}))"
            ));
            let up = self.ins(format!("add i64 {most}, {}", bytes - 1));
            most = self.ins(format!("lshr i64 {up}, {k}"));
        }
        let most = self.splat("i64", &most);
        let good = self.ins(format!("icmp ult <32 x i64> {turned}, {most}"));
        self.every(&good)
    }

    /// The same for all lanes at once. A limit beyond 32 bits is held to be the largest of 32.
    pub(super) fn all_below(&mut self, from: &str, lim: &str, bytes: i64) -> String {
        let quarters = self.parts("i64", from, 4);
        let any = self.fold(&quarters, |a, b| format!("or <4 x i64> {a}, {b}"));
        let not_good = !0xffff_ffffi64 | (bytes - 1);
        let odd = self.ins(format!("and <4 x i64> {any}, splat (i64 {not_good})"));
        let odd = self.ins(format!("bitcast <4 x i64> {odd} to i256"));
        let even = self.ins(format!("icmp eq i256 {odd}, 0"));
        // High halves are 0 if that holds.
        let halves: Vec<String> = quarters
            .iter()
            .map(|q| self.ins(format!("bitcast <4 x i64> {q} to <8 x i32>")))
            .collect();
        self.declare("declare i64 @llvm.umin.i64(i64, i64)");
        let lim = self.ins(format!("call i64 @llvm.umin.i64(i64 {lim}, i64 {})", u32::MAX));
        let lim = self.ins(format!("trunc i64 {lim} to i32"));
        let below = self.largest_is(&halves, "ult", &lim);
        self.ins(format!("and i1 {even}, {below}"))
    }

    /// Whether the largest of all numbers in vectors of eight is so beside a bound.
    fn largest_is(&mut self, eights: &[String], cmp: &str, bound: &str) -> String {
        self.declare("declare <8 x i32> @llvm.umax.v8i32(<8 x i32>, <8 x i32>)");
        let most = self.fold(eights, |a, b| {
            format!("call <8 x i32> @llvm.umax.v8i32(<8 x i32> {a}, <8 x i32> {b})")
        });
        let bounds = self.splat_of(8, "i32", bound);
        let good = self.ins(format!("icmp {cmp} <8 x i32> {most}, {bounds}"));
        let bits = self.ins(format!("bitcast <8 x i1> {good} to i8"));
        self.ins(format!("icmp eq i8 {bits}, -1"))
    }

    /// The registers of a vector.
    pub(super) fn parts(&mut self, ty: &str, of: &str, n: usize) -> Vec<String> {
        (0..LANES)
            .step_by(n)
            .map(|first| {
                let pick = vector_of("i32", (first..first + n).map(|l| l as i64));
                self.ins(format!(
                    "shufflevector <32 x {ty}> {of}, <32 x {ty}> poison, <{n} x i32> {pick}"
                ))
            })
            .collect()
    }

    /// One of many, pair by pair.
    fn fold(&mut self, of: &[String], op: impl Fn(&str, &str) -> String) -> String {
        let mut left = of.to_vec();
        while left.len() > 1 {
            let pairs: Vec<Vec<String>> = left.chunks(2).map(<[String]>::to_vec).collect();
            left = pairs
                .into_iter()
                .map(|p| match p.as_slice() {
                    [a, b] => self.ins(op(a, b)),
                    _ => p[0].clone(),
                })
                .collect();
        }
        left.remove(0)
    }

    /// Checks 32-bit indices against the range that is good.
    pub(super) fn indexed(
        &mut self,
        a: &Access,
        addr: &Addr,
        (lo, lim, host): (String, String, Option<String>),
        slow: &str,
    ) -> Place {
        let (k, bytes) = (addr.scale.trailing_zeros(), a.bytes() as i64);
        let base = self.add64(&addr.base, a.offset);
        // Distances from the base, signed: all of them if the last is not below the first.
        let first = self.ins(format!("sub i64 {lo}, {base}"));
        let last = self.ins(format!("add i64 {first}, {lim}"));
        let last = self.ins(format!("sub i64 {last}, 1"));
        let some = self.ins(format!("icmp sge i64 {last}, {first}"));
        let up = self.ins(format!("add i64 {first}, {}", addr.scale - 1));
        let from = self.ins(format!("ashr i64 {up}, {k}"));
        let to = self.ins(format!("ashr i64 {last}, {k}"));
        self.declare("declare i64 @llvm.smin.i64(i64, i64)");
        self.declare("declare i64 @llvm.smax.i64(i64, i64)");
        let least = if addr.signed { i32::MIN as i64 } else { 0 };
        let from = self.ins(format!("call i64 @llvm.smax.i64(i64 {from}, i64 {least})"));
        let to = self.ins(format!("call i64 @llvm.smin.i64(i64 {to}, i64 {})", i32::MAX));
        let even = (bytes > 1).then(|| {
            let odd = self.ins(format!("and i64 {base}, {}", bytes - 1));
            self.ins(format!("icmp eq i64 {odd}, 0"))
        });
        let order = self.ins(format!("icmp sle i64 {from}, {to}"));
        let mut ok = self.ins(format!("and i1 {some}, {order}"));
        if let Some(even) = even {
            ok = self.ins(format!("and i1 {ok}, {even}"));
        }
        // Where the largest index is known, scalars may tell for all lanes.
        let largest = Some(self.most_of(&addr.index)).filter(|&most| most <= i32::MAX as u64);
        let all_inside = largest.map(|most| {
            let none_below = self.ins(format!("icmp sle i64 {from}, 0"));
            let none_above = self.ins(format!("icmp sge i64 {to}, {most}"));
            let none = self.ins(format!("and i1 {none_below}, {none_above}"));
            self.ins(format!("and i1 {ok}, {none}"))
        });
        let from = self.ins(format!("trunc i64 {from} to i32"));
        let to = self.ins(format!("trunc i64 {to} to i32"));
        let room = self.ins(format!("sub i32 {to}, {from}"));
        let low = self.splat("i32", &from);
        let mut index = addr.index.clone();
        let joined = self.lone_lanes;
        if joined && !self.all() {
            let lanes = self.lanes();
            index =
                self.ins(format!("select <32 x i1> {lanes}, <32 x i32> {index}, <32 x i32> {low}"));
        }
        let inside_all = self.label();
        if let Some(all) = &all_inside {
            let ask = self.label();
            self.line(format!("br i1 {all}, label %{inside_all}, label %{ask}, !prof !0"));
            self.begin(&ask);
        }
        let above = self.ins(format!("sub <32 x i32> {index}, {low}"));
        let inside = if joined {
            let eights = self.parts("i32", &above, 8);
            self.largest_is(&eights, "ule", &room)
        } else {
            let room = self.splat("i32", &room);
            let good = self.ins(format!("icmp ule <32 x i32> {above}, {room}"));
            self.every(&good)
        };
        ok = self.ins(format!("and i1 {ok}, {inside}"));
        self.expect_inside(&ok, slow);
        if all_inside.is_some() {
            self.line(format!("br label %{inside_all}"));
            self.begin(&inside_all);
        }
        let base = match host {
            Some(host) => self.ins(format!("add i64 {base}, {host}")),
            None => base,
        };
        Place::Index { base, index, scale: addr.scale, everywhere: joined }
    }
}
