// SPDX-License-Identifier: MIT OR Apache-2.0
//! Named cards: what a compute capability leaves open.

use serde::Serialize;

use crate::capability::{ComputeCapability, Limits};
use crate::figure::{self, Figure, Source};

/// A product. Clocks in kHz, sizes in bytes, the bus in bits.
#[derive(Clone, Debug, Serialize)]
pub struct Card {
    /// As `cudaDeviceProp::name` has it.
    pub name: &'static str,
    /// What a user types: `--gpu h200`.
    pub alias: &'static str,
    pub cc: ComputeCapability,
    pub sm_count: Figure<u32>,
    pub clock_khz: Figure<u32>,
    pub memory_clock_khz: Figure<u32>,
    pub memory_bus_bits: Figure<u32>,
    pub memory_bytes: Figure<u64>,
    pub l2_bytes: Figure<u32>,
    /// The constant cache, where it is not its compute capability's.
    pub constant_cache: Option<Figure<u32>>,
    pub ecc: bool,
    /// Shares the host's memory (Jetson, DGX Spark).
    pub integrated: bool,
    /// An OpenCL accelerator (`CL_DEVICE_TYPE_ACCELERATOR`), and no GPU.
    pub accelerator: bool,
}

/// A virtual GPU: a card and its compute capability's limits.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Gpu {
    pub card: &'static Card,
    pub limits: &'static Limits,
}

const fn from_data_sheet<T>(value: T) -> Figure<T> {
    tagged(value, Source::Manual)
}

const fn tagged<T>(value: T, source: Source) -> Figure<T> {
    let place = match source {
        Source::Manual => "the card's data sheet",
        Source::Measured => figure::H200,
        Source::Inferred => "third parties' tables",
        Source::Modelled => "margay's own choice",
    };
    Figure { value, source, place }
}

macro_rules! card_table {
    ($( $alias:literal $name:literal ($major:literal $minor:literal) $sms:literal SMs $mhz:literal MHz, $mem:literal MiB at $mem_mhz:literal MHz on $bus:literal bits, $(constants $constants:literal KiB,)? L2 $l2:literal KiB $([$($flag:ident)*])? $source:ident; )*) => {
        static CARDS: &[Card] = &[ $( Card {
            name: $name,
            alias: $alias,
            cc: ComputeCapability::new($major, $minor),
            sm_count: tagged($sms, Source::$source),
            clock_khz: tagged($mhz * 1000, Source::$source),
            memory_clock_khz: tagged($mem_mhz * 1000, Source::$source),
            memory_bus_bits: from_data_sheet($bus),
            memory_bytes: tagged(($mem as f64 * 1_048_576.0) as u64, Source::$source),
            l2_bytes: tagged($l2 << 10, Source::$source),
            constant_cache: own_constant_cache(&[$($constants)?]),
            ecc: has(&[$($(stringify!($flag)),*)?], "ecc"),
            integrated: has(&[$($(stringify!($flag)),*)?], "integrated"),
            accelerator: has(&[$($(stringify!($flag)),*)?], "accelerator"),
        }, )* ];
    };
}

/// At most one size, in KiB.
const fn own_constant_cache(sizes: &[u32]) -> Option<Figure<u32>> {
    match sizes {
        [size, ..] => Some(figure::manual_in(*size << 10, AOC)),
        [] => None,
    }
}

/// Where the FPGA-like device's constant cache has its size from.
const AOC: &str = "Intel FPGA SDK for OpenCL Programming Guide, -const-cache-bytes=<N>: 16 kilobytes unless chosen";

const fn has(flags: &[&str], wanted: &str) -> bool {
    let mut i = 0;
    while i < flags.len() {
        let (a, b) = (flags[i].as_bytes(), wanted.as_bytes());
        let mut same = a.len() == b.len();
        let mut j = 0;
        while same && j < a.len() {
            same = a[j] == b[j];
            j += 1;
        }
        if same {
            return true;
        }
        i += 1;
    }
    false
}

// In the capabilities' order. The first card of a capability is what its bare name (`sm_90`)
// stands for. `fpga` is no product: it runs what 9.0 runs, with the one constant cache that OpenCL compilers for
// FPGAs build, and two banks of DDR4-2400.
card_table! {
    "8800gtx"  "GeForce 8800 GTX"          (1 0)  16 SMs 1350 MHz, 768 MiB at 900 MHz on 384 bits, L2 0 KiB Manual;
    "9800gtx"  "GeForce 9800 GTX"          (1 1)  16 SMs 1688 MHz, 512 MiB at 1100 MHz on 256 bits, L2 0 KiB Manual;
    "gt240"    "GeForce GT 240"            (1 2)  12 SMs 1340 MHz, 512 MiB at 1700 MHz on 128 bits, L2 0 KiB Manual;
    "c1060"    "Tesla C1060"               (1 3)  30 SMs 1296 MHz, 4096 MiB at 800 MHz on 512 bits, L2 0 KiB Manual;
    "c2050"    "Tesla C2050"               (2 0)  14 SMs 1147 MHz, 3072 MiB at 1500 MHz on 384 bits, L2 768 KiB [ecc] Manual;
    "gtx560ti" "GeForce GTX 560 Ti"        (2 1)  8 SMs 1645 MHz, 1024 MiB at 2004 MHz on 256 bits, L2 512 KiB Manual;
    "gtx680"   "GeForce GTX 680"           (3 0)  8 SMs 1058 MHz, 2048 MiB at 3004 MHz on 256 bits, L2 512 KiB Manual;
    "tk1"      "GK20A"                     (3 2)  1 SMs 852 MHz, 1892 MiB at 924 MHz on 64 bits, L2 128 KiB [integrated] Inferred;
    "k40"      "Tesla K40c"                (3 5)  15 SMs 745 MHz, 12288 MiB at 3004 MHz on 384 bits, L2 1536 KiB [ecc] Manual;
    "k80"      "Tesla K80"                 (3 7)  13 SMs 823 MHz, 12288 MiB at 2505 MHz on 384 bits, L2 1536 KiB [ecc] Manual;
    "gtx750ti" "NVIDIA GeForce GTX 750 Ti" (5 0)  5 SMs 1085 MHz, 2048 MiB at 2700 MHz on 128 bits, L2 2048 KiB Manual;
    "gtx980"   "NVIDIA GeForce GTX 980"    (5 2)  16 SMs 1216 MHz, 4096 MiB at 3505 MHz on 256 bits, L2 2048 KiB Manual;
    "tx1"      "NVIDIA Tegra X1"           (5 3)  2 SMs 998 MHz, 3994 MiB at 1600 MHz on 64 bits, L2 256 KiB [integrated] Inferred;
    "p100"     "Tesla P100-SXM2-16GB"      (6 0)  56 SMs 1480 MHz, 16280 MiB at 715 MHz on 4096 bits, L2 4096 KiB [ecc] Manual;
    "gtx1080"  "NVIDIA GeForce GTX 1080"   (6 1)  20 SMs 1733 MHz, 8192 MiB at 5005 MHz on 256 bits, L2 2048 KiB Manual;
    "tx2"      "NVIDIA Tegra X2"           (6 2)  2 SMs 1300 MHz, 7850 MiB at 1300 MHz on 128 bits, L2 512 KiB [integrated] Inferred;
    "v100"     "Tesla V100-SXM2-16GB"      (7 0)  80 SMs 1530 MHz, 16160 MiB at 877 MHz on 4096 bits, L2 6144 KiB [ecc] Manual;
    "xavier"   "Xavier"                    (7 2)  8 SMs 1377 MHz, 31920 MiB at 1377 MHz on 256 bits, L2 512 KiB [integrated] Inferred;
    "t4"       "Tesla T4"                  (7 5)  40 SMs 1590 MHz, 15109 MiB at 5001 MHz on 256 bits, L2 4096 KiB [ecc] Manual;
    "a100"     "NVIDIA A100-SXM4-40GB"     (8 0)  108 SMs 1410 MHz, 40536 MiB at 1215 MHz on 5120 bits, L2 40960 KiB [ecc] Manual;
    "rtx3090"  "NVIDIA GeForce RTX 3090"   (8 6)  82 SMs 1695 MHz, 24268 MiB at 9751 MHz on 384 bits, L2 6144 KiB Manual;
    "orin"     "Orin"                      (8 7)  16 SMs 1300 MHz, 30588 MiB at 1300 MHz on 256 bits, L2 4096 KiB [integrated] Inferred;
    "rtx4090"  "NVIDIA GeForce RTX 4090"   (8 9)  128 SMs 2520 MHz, 24217 MiB at 10501 MHz on 384 bits, L2 73728 KiB Manual;
    "h200"     "NVIDIA H200"               (9 0)  132 SMs 1980 MHz, 143155.9375 MiB at 3201 MHz on 6016 bits, L2 61440 KiB [ecc] Measured;
    "h100"     "NVIDIA H100 80GB HBM3"     (9 0)  132 SMs 1980 MHz, 81079 MiB at 2619 MHz on 5120 bits, L2 51200 KiB [ecc] Manual;
    "fpga"     "FPGA-like accelerator"     (9 0)  1 SMs 300 MHz, 8192 MiB at 1200 MHz on 128 bits, constants 16 KiB, L2 0 KiB [accelerator] Modelled;
    "b200"     "NVIDIA B200"               (10 0) 148 SMs 1965 MHz, 182642 MiB at 3996 MHz on 8192 bits, L2 129024 KiB [ecc] Inferred;
    "b300"     "NVIDIA B300"               (10 3) 148 SMs 1920 MHz, 275040 MiB at 3996 MHz on 8192 bits, L2 129024 KiB [ecc] Inferred;
    "thor"     "NVIDIA Thor"               (11 0) 20 SMs 1575 MHz, 125771 MiB at 4266 MHz on 256 bits, L2 32768 KiB [integrated] Inferred;
    "rtx5090"  "NVIDIA GeForce RTX 5090"   (12 0) 170 SMs 2407 MHz, 32120 MiB at 14001 MHz on 512 bits, L2 98304 KiB Manual;
    "gb10"     "NVIDIA GB10"               (12 1) 48 SMs 2418 MHz, 122572 MiB at 4266 MHz on 256 bits, L2 24576 KiB [integrated] Inferred;
}

/// Every card, in the order of compute capabilities.
pub fn cards() -> impl Iterator<Item = Gpu> {
    CARDS.iter().map(Gpu::of)
}

/// Finds a virtual GPU by alias (`h200`), full name (`NVIDIA H200`), or compute capability
/// (`9.0`, `sm_90`), which stands for the first card that has it. Case does not matter.
pub fn find(name: &str) -> Option<Gpu> {
    let simple = |s: &str| -> String {
        s.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>().to_ascii_lowercase()
    };
    let wanted = simple(name);
    let by_name = CARDS.iter().find(|c| simple(c.alias) == wanted || simple(c.name) == wanted);
    if let Some(card) = by_name {
        return Some(Gpu::of(card));
    }
    let cc: ComputeCapability = name.to_ascii_lowercase().parse().ok()?;
    CARDS.iter().find(|c| c.cc == cc).map(Gpu::of)
}

impl Gpu {
    fn of(card: &'static Card) -> Gpu {
        let limits = card.cc.limits().expect("the card table names capabilities that exist");
        Gpu { card, limits }
    }

    /// The constant cache of a multiprocessor: the card's own, or its compute capability's working set.
    pub fn constant_cache(&self) -> Figure<u32> {
        self.card.constant_cache.unwrap_or(self.limits.constant_cache)
    }

    /// The compute capability.
    pub fn cc(&self) -> ComputeCapability {
        self.card.cc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_has_a_card_and_every_card_a_capability() {
        for limits in crate::gpu::ALL {
            assert!(cards().any(|g| g.cc() == limits.cc), "no card for {}", limits.cc);
        }
        let mut last = ComputeCapability::new(0, 0);
        for gpu in cards() {
            assert!(gpu.cc() >= last, "{} is out of order", gpu.card.name);
            last = gpu.cc();
        }
    }

    #[test]
    fn found_by_alias_name_and_capability() {
        for text in ["h200", "NVIDIA H200", "9.0", "sm_90", "SM_90a", "compute_90"] {
            assert_eq!(find(text).map(|g| g.card.alias), Some("h200"), "{text}");
        }
        assert_eq!(find("1.0").unwrap().card.name, "GeForce 8800 GTX");
        assert!(find("sm_99").is_none());
        assert!(find("").is_none());
    }

    #[test]
    fn an_fpga_has_a_constant_cache_of_its_own() {
        let fpga = find("fpga").unwrap();
        assert_eq!((fpga.constant_cache().value, fpga.card.accelerator), (16 << 10, true));
        let h200 = find("h200").unwrap();
        assert_eq!(h200.constant_cache().value, h200.limits.constant_cache.value);
        assert!(cards().filter(|g| g.card.accelerator).count() == 1);
    }

    #[test]
    fn flags_are_the_table_s() {
        assert!(find("h200").unwrap().card.ecc && !find("h200").unwrap().card.integrated);
        assert!(find("tk1").unwrap().card.integrated && !find("tk1").unwrap().card.ecc);
    }
}
