// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the command line says about one access: GPUs, width, addresses of the lanes, kind.

use margay_arch::{AtomicOp, BankMode, CacheOperator, Gpu, Kind, MemoryModel, Space, WarpAccess};

use super::expression::Expression;
use crate::commands::gpu_name;
use crate::failure::Failure;

/// Addresses and kind of an access.
#[derive(clap::Args)]
pub struct AccessArgs {
    /// One or several GPUs, separated by commas: names (`h200`) or compute capabilities (`2.0`).
    #[arg(long, value_name = "GPU,…", default_value = "h200")]
    pub gpu: String,
    /// Bytes of each lane: 1, 2, 4, 8 or 16 (32 in global memory from 10.0 on).
    #[arg(long, value_name = "BYTES", default_value_t = 4)]
    pub width: u32,
    /// Lane t takes element t*N, elements being as wide as the access.
    #[arg(long, value_name = "N", conflicts_with_all = ["pattern", "addresses"], allow_hyphen_values = true)]
    pub stride: Option<i64>,
    /// Lane t takes element EXPR of `tid`, as in C: `tid*33`, `(tid&~1)<<2`, `tid<16 ? tid : 0`.
    #[arg(long, value_name = "EXPR", conflicts_with = "addresses", allow_hyphen_values = true)]
    pub pattern: Option<String>,
    /// The byte addresses of lanes 0, 1, …; lanes without one are inactive.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    pub addresses: Vec<u64>,
    /// Bytes added to every address.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub base: u64,
    /// Active lanes, as hexadecimal mask (bit 0 is lane 0).
    #[arg(long, value_name = "HEX")]
    pub mask: Option<String>,
    /// A store instead of a load.
    #[arg(long, conflicts_with = "atomic")]
    pub store: bool,
    /// An atomic: add, addf (floating point), one (adds 1), min, max, inc, dec, and, or, xor, exch, cas.
    #[arg(long, value_name = "OP", value_parser = atomic_op)]
    pub atomic: Option<AtomicOp>,
    /// The atomic's old value is not used: a reduction (`RED`).
    #[arg(long, requires = "atomic")]
    pub unused: bool,
    /// The cache operator of a load or store: ca, cg, cs, lu, cv, wb, wt, nc, ldu.
    #[arg(long, value_name = "OP", value_parser = cache_operator)]
    pub cache: Option<CacheOperator>,
    /// Bytes of a bank on 3.x (cudaDeviceSetSharedMemConfig): 4 or 8.
    #[arg(long, value_name = "BYTES", value_parser = bank_mode)]
    pub bank_mode: Option<BankMode>,
    #[command(flatten)]
    pub form: Form,
}

/// How the answer is written.
#[derive(clap::Args, Clone, Copy)]
pub struct Form {
    /// A picture (SVG) on standard output.
    #[arg(long, conflicts_with = "json")]
    pub svg: bool,
    /// Everything as JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) fn atomic_op(text: &str) -> Result<AtomicOp, String> {
    Ok(match text {
        "add" => AtomicOp::Add,
        "addf" => AtomicOp::AddFloat,
        "one" => AtomicOp::AddOne,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        "inc" => AtomicOp::Inc,
        "dec" => AtomicOp::Dec,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "exch" => AtomicOp::Exchange,
        "cas" => AtomicOp::CompareSwap,
        _ => {
            return Err(
                "atomics are add, addf, one, min, max, inc, dec, and, or, xor, exch, cas".into()
            );
        }
    })
}

fn cache_operator(text: &str) -> Result<CacheOperator, String> {
    Ok(match text {
        "ca" => CacheOperator::Ca,
        "cg" => CacheOperator::Cg,
        "cs" => CacheOperator::Cs,
        "lu" => CacheOperator::Lu,
        "cv" => CacheOperator::Cv,
        "wb" => CacheOperator::Wb,
        "wt" => CacheOperator::Wt,
        "nc" => CacheOperator::Nc,
        "ldu" => CacheOperator::Uniform,
        _ => return Err("cache operators are ca, cg, cs, lu, cv, wb, wt, nc, ldu".into()),
    })
}

fn bank_mode(text: &str) -> Result<BankMode, String> {
    match text {
        "4" => Ok(BankMode::FourByte),
        "8" => Ok(BankMode::EightByte),
        _ => Err("a bank is 4 or 8 bytes wide".into()),
    }
}

/// An access as the model takes it, with the words that describe it.
pub struct Pattern {
    pub space: Space,
    pub kind: Kind,
    pub width: u32,
    pub mask: u32,
    pub addresses: [u64; 32],
    pub cache: CacheOperator,
    /// `element tid*33`, for the heading.
    pub words: String,
}

impl Pattern {
    pub fn access(&self) -> WarpAccess<'_> {
        WarpAccess {
            space: self.space,
            kind: self.kind,
            width: self.width,
            mask: self.mask,
            addresses: &self.addresses,
            cache: self.cache,
        }
    }
}

impl AccessArgs {
    /// The GPUs, each with the model for its capability.
    pub fn gpus(&self) -> Result<Vec<(Gpu, MemoryModel)>, Failure> {
        let mut found = Vec::new();
        for name in self.gpu.split(',') {
            let gpu = gpu_name::find(name.trim())?;
            let mut model = MemoryModel::new(gpu.limits);
            if let Some(mode) = self.bank_mode {
                model = model.with_bank_mode(mode);
                if model.bank_mode != mode {
                    return Err(Failure::Usage(format!(
                        "banks of {} have 4 bytes; only 3.x can make them 8",
                        gpu.cc()
                    )));
                }
            }
            found.push((gpu, model));
        }
        Ok(found)
    }

    /// The access on `space`.
    pub fn pattern(&self, space: Space) -> Result<Pattern, Failure> {
        let usage = |text: String| Err(Failure::Usage(text));
        if !matches!(self.width, 1 | 2 | 4 | 8 | 16 | 32) {
            return usage(format!(
                "a lane accesses 1, 2, 4, 8, 16 or 32 bytes, not {}",
                self.width
            ));
        }
        if self.width == 32 && space != Space::Global {
            return usage("only global memory has accesses of 32 bytes a lane".into());
        }
        let kind = match (self.store, self.atomic, self.unused) {
            (true, _, _) => Kind::Store,
            (false, Some(op), true) => Kind::Reduction(op),
            (false, Some(op), false) => Kind::Atomic(op),
            (false, None, _) => Kind::Load,
        };
        if kind != Kind::Load && space == Space::Constant {
            return usage("constant memory can only be loaded from".into());
        }
        if self.atomic.is_some() && space == Space::Local {
            return usage("there are no atomics on local memory".into());
        }
        let (mut addresses, mut mask, words) = self.lanes()?;
        if let Some(text) = &self.mask {
            let digits = text.trim_start_matches("0x");
            match u32::from_str_radix(digits, 16) {
                Ok(lanes) => mask &= lanes,
                Err(_) => {
                    return usage(format!("`{text}` is no mask: write up to 8 hexadecimal digits"));
                }
            }
            if mask == 0 {
                return usage("no lane is active".into());
            }
        }
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address =
                address.checked_add(self.base).filter(|a| *a < 1 << 48).ok_or_else(|| {
                    Failure::Usage(format!("lane {lane}'s address is beyond 48 bits"))
                })?;
            if mask >> lane & 1 == 1 && !address.is_multiple_of(self.width.into()) {
                return usage(format!(
                    "lane {lane}'s address {address} is no multiple of the width {}: the hardware faults",
                    self.width
                ));
            }
        }
        let cache = self.cache.unwrap_or_default();
        Ok(Pattern { space, kind, width: self.width, mask, addresses, cache, words })
    }

    fn lanes(&self) -> Result<([u64; 32], u32, String), Failure> {
        if !self.addresses.is_empty() {
            if self.addresses.len() > 32 {
                let text = format!("a warp has 32 lanes, not {}", self.addresses.len());
                return Err(Failure::Usage(text));
            }
            let mut addresses = [0; 32];
            addresses[..self.addresses.len()].copy_from_slice(&self.addresses);
            let mask = u32::MAX >> (32 - self.addresses.len());
            return Ok((addresses, mask, "the given addresses".into()));
        }
        let text = match (&self.pattern, self.stride) {
            (Some(text), _) => text.clone(),
            (None, Some(1)) => "tid".into(),
            (None, Some(stride)) => format!("tid*{stride}"),
            (None, None) => "tid".into(),
        };
        let expression = Expression::parse(&text).map_err(|e| {
            let mark = " ".repeat(text[..e.at].chars().count());
            Failure::Usage(format!("in the pattern: {}\n  {text}\n  {mark}^", e.what))
        })?;
        let mut addresses = [0; 32];
        for (lane, address) in addresses.iter_mut().enumerate() {
            let element = expression.value(lane as i64).map_err(|what| {
                Failure::Usage(format!("the pattern `{text}` {what} for lane {lane}"))
            })?;
            *address = u64::try_from(element).ok().and_then(|e| e.checked_mul(self.width.into())).ok_or_else(
                || {
                    Failure::Usage(format!(
                        "the pattern `{text}` gives element {element} for lane {lane}; elements are 0 and up"
                    ))
                },
            )?;
        }
        Ok((addresses, u32::MAX, format!("element {text}")))
    }
}
