// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the environment asks for, read once when the runtime starts.
//!
//! Invariant: nothing else in the runtime reads the environment. A value that cannot be
//! understood is reported on stderr and the default is used, except for `MARGAY_GPU`, where an
//! unknown name leaves no device (running on another GPU than asked would mislead).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use margay_arch::Gpu;
use margay_exec::mem::space::Bounds;
use margay_observe::sanitize::Filter;
use margay_observe::sanitize::finding::Check;

/// The GPU that is emulated when nothing is asked for.
pub const DEFAULT_GPU: &str = "h200";

/// Settings of the process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The visible devices, in order (`MARGAY_GPU` filtered by `CUDA_VISIBLE_DEVICES`), each with
    /// its index before filtering.
    pub gpus: Vec<(u32, Gpu)>,
    /// Reports of faults and warnings on stderr (`MARGAY_LOG`, unless it is `off`).
    pub log: bool,
    /// `CUDA_LOG_FILE`: where errors and warnings are written, as they happen.
    pub log_file: Option<String>,
    /// `CUDA_LAUNCH_BLOCKING=1`: a launch returns when the kernel has ended.
    pub launch_blocking: bool,
    /// `MARGAY_THREADS`: worker threads of a launch, 0 for one each core.
    pub threads: usize,
    /// `MARGAY_TIMEOUT`: seconds that a kernel may run.
    pub timeout: Option<Duration>,
    /// `MARGAY_SEED`: fixes the order of blocks and atomics.
    pub seed: Option<u64>,
    /// `MARGAY_BOUNDS`: how strictly kernels are held to the sizes that were asked for.
    pub bounds: Bounds,
    /// `CUDA_MODULE_LOADING=EAGER`.
    pub eager_loading: bool,
    /// `MARGAY_PROFILE`: the directory that the process's profile is written into.
    pub profile: Option<PathBuf>,
    /// `MARGAY_CHECK`: the checks, and `MARGAY_CHECK_DIR`: where their findings go.
    pub check: Option<(BTreeSet<Check>, PathBuf)>,
    /// Which launches are checked: `MARGAY_CHECK_KERNELS`, a part of the kernel's name, and
    /// `MARGAY_CHECK_LAUNCHES`, numbers from 1 as in `1,5-8,20-`.
    pub check_filter: Filter,
    /// `MARGAY_DESTROY_ON_DEVICE_ERROR=kernel`: a fault ends its kernel, and the context stays usable.
    pub faults_end_kernels: bool,
    /// `MARGAY_CHECK_RESULTS=1`: what the program copies from the device is to be compared with other runs.
    pub compares_results: bool,
    /// `MARGAY_CONST_CACHE_BYTES`: the size of the constant cache that is to be modelled.
    pub constant_cache: Option<u32>,
    /// `MARGAY_MODELS`: GPUs beside the program's own that the profile counts for.
    pub models: Vec<Gpu>,
}

impl Settings {
    /// Whether the check of memory is on.
    pub fn checks_memory(&self) -> bool {
        self.checks(Check::Memory)
    }

    /// Whether the check of initialisation is on.
    pub fn checks_initialisation(&self) -> bool {
        self.checks(Check::Init)
    }

    fn checks(&self, check: Check) -> bool {
        self.check.as_ref().is_some_and(|(checks, _)| checks.contains(&check))
    }

    /// Reads the process's environment.
    pub fn from_env() -> Settings {
        Settings::read(|name| std::env::var(name).ok())
    }

    /// Reads through `var`, which stands for the environment.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> Settings {
        let log = !var("MARGAY_LOG").is_some_and(|v| v.eq_ignore_ascii_case("off") || v == "0");
        let warn = |name: &str, value: &str, expected: &str| {
            if log {
                eprintln!("margay: {name}={value} is ignored: expected {expected}");
            }
        };
        let mut gpus = Vec::new();
        let names = var("MARGAY_GPU").filter(|v| !v.trim().is_empty());
        for name in names.as_deref().unwrap_or(DEFAULT_GPU).split(',').map(str::trim) {
            match margay_arch::find(name) {
                Some(gpu) => gpus.push(gpu),
                None => {
                    if log {
                        eprintln!(
                            "margay: MARGAY_GPU names `{name}`, which is no GPU that margay knows \
                             (`margay gpus` lists them); no device is offered"
                        );
                    }
                    gpus.clear();
                    break;
                }
            }
        }
        let names = var("MARGAY_MODELS").unwrap_or_default();
        let mut models = Vec::new();
        for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            match margay_arch::find(name) {
                Some(gpu) => models.push(gpu),
                None => warn("MARGAY_MODELS", name, "GPUs that `margay gpus` lists"),
            }
        }
        let all: Vec<(u32, Gpu)> = (0..).zip(gpus).collect();
        let gpus = match var("CUDA_VISIBLE_DEVICES") {
            Some(list) => visible(&list, &all),
            None => all,
        };
        let number = |name: &str| -> Option<u64> {
            let value = var(name)?;
            match value.trim().parse() {
                Ok(n) => Some(n),
                Err(_) => {
                    warn(name, &value, "a number");
                    None
                }
            }
        };
        let timeout = var("MARGAY_TIMEOUT").and_then(|value| {
            match value.trim().trim_end_matches('s').parse::<f64>() {
                Ok(s) if s > 0.0 && s < 1e9 => Some(Duration::from_secs_f64(s)),
                Ok(0.0) => None,
                Ok(_) | Err(_) => {
                    warn("MARGAY_TIMEOUT", &value, "seconds");
                    None
                }
            }
        });
        let bounds = match var("MARGAY_BOUNDS").as_deref().map(str::trim) {
            None | Some("" | "exact") => Bounds::Exact,
            Some("page") => Bounds::Page,
            Some(other) => {
                warn("MARGAY_BOUNDS", other, "exact or page");
                Bounds::Exact
            }
        };
        let mut check_filter = Filter {
            kernels: var("MARGAY_CHECK_KERNELS").filter(|v| !v.is_empty()),
            launches: None,
        };
        if let Some(text) = var("MARGAY_CHECK_LAUNCHES").filter(|v| !v.trim().is_empty()) {
            match Filter::parse_launches(&text) {
                Some(ranges) => check_filter.launches = Some(ranges),
                None => warn("MARGAY_CHECK_LAUNCHES", &text, "numbers from 1, as in 1,5-8,20-"),
            }
        }
        Settings {
            gpus,
            bounds,
            log,
            log_file: var("CUDA_LOG_FILE"),
            launch_blocking: var("CUDA_LAUNCH_BLOCKING").is_some_and(|v| v.trim() == "1"),
            threads: number("MARGAY_THREADS").unwrap_or(0).min(1024) as usize,
            timeout,
            seed: number("MARGAY_SEED"),
            constant_cache: number("MARGAY_CONST_CACHE_BYTES").and_then(|n| match n {
                1..=0x4000_0000 => Some(n as u32),
                _ => {
                    let value = n.to_string();
                    warn("MARGAY_CONST_CACHE_BYTES", &value, "bytes, from 1 to 2^30");
                    None
                }
            }),
            check: checks(&var, &warn),
            check_filter,
            faults_end_kernels: var("MARGAY_DESTROY_ON_DEVICE_ERROR")
                .is_some_and(|v| v.trim() == "kernel"),
            compares_results: var("MARGAY_CHECK_RESULTS").is_some_and(|v| v.trim() == "1"),
            profile: var("MARGAY_PROFILE").filter(|v| !v.is_empty()).map(PathBuf::from),
            models,
            eager_loading: var("CUDA_MODULE_LOADING")
                .is_some_and(|v| v.eq_ignore_ascii_case("eager")),
        }
    }
}

/// `CUDA_VISIBLE_DEVICES`: indices or UUID prefixes; the first invalid entry ends the list, and a
/// device named twice leaves none (CUDA C++ Programming Guide, "CUDA Environment Variables").
fn visible(list: &str, all: &[(u32, Gpu)]) -> Vec<(u32, Gpu)> {
    let mut out: Vec<(u32, Gpu)> = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let found = match entry.parse::<u32>() {
            Ok(index) => all.iter().find(|(i, _)| *i == index),
            Err(_) => entry.strip_prefix("GPU-").and_then(|prefix| {
                let mut named =
                    all.iter().filter(|(i, gpu)| uuid_text(&uuid(*i, gpu)).starts_with(prefix));
                // A prefix that several devices share names none.
                named.next().filter(|_| named.next().is_none())
            }),
        };
        let Some(&(index, gpu)) = found else { break };
        if out.iter().any(|(i, _)| *i == index) {
            return Vec::new();
        }
        out.push((index, gpu));
    }
    out
}

/// A stable UUID for a virtual device: from its name and its index before filtering.
pub fn uuid(index: u32, gpu: &Gpu) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    for (half, chunk) in bytes.chunks_exact_mut(8).enumerate() {
        // FNV-1a over the name, started differently for each half.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ (half as u64 + 1) ^ (u64::from(index) << 32);
        for byte in gpu.card.name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        chunk.copy_from_slice(&hash.to_be_bytes());
    }
    // RFC 4122: version 4, variant 1.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::new();
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The checks that the environment asks for.
fn checks(
    var: &dyn Fn(&str) -> Option<String>,
    warn: &dyn Fn(&str, &str, &str),
) -> Option<(BTreeSet<Check>, PathBuf)> {
    let directory = var("MARGAY_CHECK_DIR").filter(|v| !v.is_empty())?;
    let text = var("MARGAY_CHECK")?;
    match Check::parse_list(&text) {
        Ok(checks) => Some((checks, directory.into())),
        Err(_) => {
            warn("MARGAY_CHECK", &text, "memory, race, init, sync or all");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(vars: &[(&str, &str)]) -> Settings {
        let find = |name: &str| {
            let found = vars.iter().find(|(n, _)| *n == name);
            found.map(|(_, v)| v.to_string()).or((name == "MARGAY_LOG").then(|| "off".into()))
        };
        Settings::read(find)
    }

    fn names(s: &Settings) -> Vec<&'static str> {
        s.gpus.iter().map(|(_, g)| g.card.alias).collect()
    }

    #[test]
    fn defaults_to_one_h200() {
        let s = settings(&[]);
        assert_eq!(names(&s), ["h200"]);
        assert!(!s.launch_blocking && s.timeout.is_none() && s.seed.is_none());
    }

    #[test]
    fn several_gpus_and_the_visible_ones() {
        let several = ("MARGAY_GPU", "h200, sm_70,9800gtx");
        assert_eq!(names(&settings(&[several])), ["h200", "v100", "9800gtx"]);
        let visible = |v| names(&settings(&[several, ("CUDA_VISIBLE_DEVICES", v)]));
        assert_eq!(visible("2,0"), ["9800gtx", "h200"]);
        assert_eq!(visible("0,7,1"), ["h200"]);
        assert_eq!(visible("1,1"), [""; 0]);
        assert_eq!(visible(""), [""; 0]);
        assert_eq!(visible("-1"), [""; 0]);
    }

    #[test]
    fn an_unknown_gpu_leaves_no_device() {
        assert_eq!(names(&settings(&[("MARGAY_GPU", "sm_90,voodoo2")])), [""; 0]);
    }

    #[test]
    fn numbers() {
        let s =
            settings(&[("MARGAY_TIMEOUT", "1.5"), ("MARGAY_SEED", "7"), ("MARGAY_THREADS", "x")]);
        assert_eq!(s.timeout, Some(Duration::from_millis(1500)));
        assert_eq!((s.seed, s.threads), (Some(7), 0));
    }

    #[test]
    fn uuids_differ_by_index() {
        let gpu = margay_arch::find("h200").unwrap();
        assert_ne!(uuid(0, &gpu), uuid(1, &gpu));
        assert_eq!(uuid(0, &gpu), uuid(0, &gpu));
    }
}
