// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels: what they need, what may be set on them, and how many fit on a multiprocessor.
//!
//! How many registers ptxas would give a thread is estimated here. The estimate answers attribute
//! and occupancy queries and warns; only a directive that caps the registers can refuse a launch.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use margay_arch::caches::SplitPreference;
use margay_arch::{BankMode, LaunchResources, Limits};
use margay_exec::program::{LinkError, Program, ProgramInfo};
use margay_ir as ir;
use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::module::Module;
use crate::runtime;

/// What `cuFuncSetAttribute` and its relatives change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionSettings {
    /// Dynamic shared bytes opted in to; 0 if never set.
    pub max_dynamic_shared: u32,
    /// Percent of the unified cache, or -1. A hint.
    pub carveout: i32,
    pub cache_config: u32,
    /// `cuFuncSetSharedMemConfig`: 0 is the context's.
    pub shared_config: u32,
    pub non_portable_cluster: bool,
    pub cluster_scheduling: u32,
    /// Required cluster size set by attribute; zeros if not.
    pub required_cluster: [u32; 3],
}

impl FunctionSettings {
    /// What they say of the store that shared memory and L1 divide; the newer attribute goes before the older call, and
    /// that before the context's (`cuCtxSetCacheConfig`).
    pub fn split(&self, context: u32) -> SplitPreference {
        let config = if self.cache_config == 0 { context } else { self.cache_config };
        match (u32::try_from(self.carveout), config) {
            (Ok(percent), _) => SplitPreference::Percent(percent),
            // `CU_FUNC_CACHE_PREFER_SHARED`, `_L1`, `_EQUAL`.
            (Err(_), 1) => SplitPreference::Shared,
            (Err(_), 2) => SplitPreference::L1,
            (Err(_), 3) => SplitPreference::Equal,
            (Err(_), _) => SplitPreference::Default,
        }
    }
}

/// What the launches of CUDA's first versions find set on a function.
#[derive(Clone, Debug, Default)]
pub struct OldLaunch {
    /// `cuFuncSetBlockShape`.
    pub block: Option<[u32; 3]>,
    /// `cuFuncSetSharedSize`: bytes of dynamic shared memory.
    pub shared: u32,
    /// `cuParamSetSize`: how many bytes of parameters there are.
    pub size: usize,
    /// `cuParamSeti` and its like.
    pub params: Vec<u8>,
}

/// A kernel of a module.
pub struct Function {
    pub handle: Handle,
    pub module: Arc<Module>,
    pub id: ir::FuncId,
    pub settings: Mutex<FunctionSettings>,
    pub old_launch: Mutex<OldLaunch>,
    warned: AtomicBool,
    program: OnceLock<std::result::Result<Arc<Program>, CudaError>>,
    /// Whether its code launches graphs, once somebody has asked.
    pub(crate) launches_graphs: OnceLock<bool>,
}

impl Function {
    pub(crate) fn of(module: &Arc<Module>, id: ir::FuncId) -> Function {
        let settings = FunctionSettings { carveout: -1, ..FunctionSettings::default() };
        Function {
            handle: handle::fresh(),
            module: module.clone(),
            id,
            settings: Mutex::new(settings),
            old_launch: Mutex::default(),
            warned: AtomicBool::new(false),
            program: OnceLock::new(),
            launches_graphs: OnceLock::new(),
        }
    }

    /// The kernel's code.
    pub fn code(&self) -> &ir::Function {
        &self.module.loaded.ir.functions[self.id.0 as usize]
    }

    pub fn name(&self) -> &str {
        &self.code().name
    }

    pub(crate) fn limits(&self) -> &'static Limits {
        // The module was loaded on this device, so it exists.
        runtime::get().devices[self.module.device as usize].gpu.limits
    }

    /// Linked for execution, once. What cannot run is named on stderr.
    pub fn program(&self) -> Result<&Arc<Program>> {
        let linked = self.program.get_or_init(|| {
            Program::link(&self.module.loaded, self.id).map(Arc::new).map_err(|error| {
                crate::report::warn(&format!("kernel {}: {error}", self.name()));
                match error {
                    LinkError::Unsupported(_) => CudaError::NotSupported,
                    LinkError::Undefined { .. } | LinkError::Malformed { .. } => {
                        CudaError::InvalidPtx
                    }
                    LinkError::NotAnEntry(_) => CudaError::InvalidHandle,
                }
            })
        });
        linked.as_ref().map_err(|error| *error)
    }

    pub fn info(&self) -> Result<&ProgramInfo> {
        self.program().map(|program| program.info())
    }

    /// Registers of a thread, and whether a directive decides that number rather than the estimate.
    pub fn registers(&self) -> Result<(u32, bool)> {
        let registers = self.registers_by(&self.code().limits)?;
        Ok((registers.number, registers.decided))
    }

    /// The estimate is made here, when somebody first asks.
    fn registers_by(&self, directives: &ir::LaunchLimits) -> Result<Registers> {
        Ok(Registers::of(self.limits(), directives, self.program()?.registers()))
    }

    /// The most threads that a block of this kernel may have.
    pub fn max_threads(&self) -> Result<u32> {
        let limits = self.limits();
        let directives = &self.code().limits;
        let bound = directives.reqntid.or(directives.maxntid).map(volume);
        let most = limits.max_threads_per_block.value;
        // Only a cap can decide, so that without one nothing is estimated.
        let capped = directives.maxnreg.is_some().then(|| self.registers()).transpose()?;
        let Some((registers, true)) = capped else {
            return Ok(bound.unwrap_or(most).min(most));
        };
        let fits =
            |threads: &u32| blocks(limits, *threads, registers, 0, SplitPreference::Default) > 0;
        let by_registers =
            (1..=most / Limits::WARP_SIZE).map(|w| w * Limits::WARP_SIZE).rev().find(fits);
        Ok(bound.unwrap_or(most).min(by_registers.unwrap_or(0)))
    }

    /// Shared bytes that a launch may ask for dynamically.
    pub fn dynamic_shared_limit(&self) -> Result<u32> {
        let limits = self.limits();
        let fixed = self.fixed_shared()?;
        let plain = limits.shared_per_block.value.saturating_sub(fixed);
        let opted = self.settings.lock().max_dynamic_shared;
        let optin = limits.shared_per_block_optin.value.saturating_sub(fixed);
        Ok(plain.max(opted.min(optin)))
    }

    /// Shared bytes that every launch takes: static, and on 1.x parameters and configuration.
    pub fn fixed_shared(&self) -> Result<u32> {
        let info = self.info()?;
        let limits = self.limits();
        Ok(match limits.cc.major {
            1 => {
                let configuration = limits.shared_launch_configuration.value;
                info.static_shared + info.param_size + configuration
            }
            _ => info.static_shared,
        })
    }

    /// `cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)`.
    pub fn set_max_dynamic_shared(&self, bytes: i32) -> Result<()> {
        let bytes = u32::try_from(bytes).map_err(|_| CudaError::InvalidValue)?;
        let most = self.limits().shared_per_block_optin.value;
        if bytes > most.saturating_sub(self.fixed_shared()?) {
            return Err(CudaError::InvalidValue);
        }
        self.settings.lock().max_dynamic_shared = bytes;
        Ok(())
    }

    /// Resident blocks of an SM, as occupancy queries answer.
    pub fn blocks_per_sm(&self, threads: u32, dynamic_shared: u32) -> Result<u32> {
        Ok(self.fit(threads, dynamic_shared)?.likely)
    }

    /// The most blocks that can be resident on an SM in a launch: 0 refuses it. No estimate makes
    /// it less than a card could hold, but one at which a card may refuse is warned of, once.
    pub fn most_blocks_per_sm(&self, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let (limits, directives) = (self.limits(), &self.code().limits);
        let shared = self.info()?.static_shared.saturating_add(dynamic_shared);
        // Where every number of registers fits, there is nothing to estimate.
        let all = limits.max_registers_per_thread.value;
        if directives.maxnreg.is_none() && blocks(limits, threads, all, shared, self.split()) > 0 {
            return Ok(blocks(limits, threads, 1, shared, SplitPreference::Default));
        }
        let fit = self.fit(threads, dynamic_shared)?;
        if fit.doubtful && !self.warned.swap(true, Ordering::Relaxed) {
            let (registers, _) = self.registers()?;
            crate::report::warn(&format!(
                "kernel {} seems to need {registers} registers a thread, too many for blocks of \
                 {threads} threads: a card may refuse the launch (701); __launch_bounds__ or \
                 -maxrregcount would decide it",
                self.name()
            ));
        }
        Ok(fit.most)
    }

    fn fit(&self, threads: u32, dynamic_shared: u32) -> Result<Fit> {
        let limits = self.limits();
        let registers = self.registers_by(&self.code().limits)?;
        let shared = self.info()?.static_shared.saturating_add(dynamic_shared);
        Ok(Fit::of(limits, registers, threads, shared, self.split()))
    }

    /// How shared memory and L1 are to divide their store.
    pub fn split(&self) -> SplitPreference {
        let config = self.of_context(|c| &c.cache_config);
        self.settings.lock().split(config)
    }

    /// What is set on the context, if it is still there.
    fn of_context(&self, setting: fn(&Context) -> &AtomicU32) -> u32 {
        let context = runtime::get().contexts.get(self.module.context);
        context.map_or(0, |c| setting(&c).load(Ordering::Relaxed))
    }

    /// How wide the banks of shared memory are to be, where there is a choice.
    pub fn bank_mode(&self) -> BankMode {
        let own = self.settings.lock().shared_config;
        let config = self.of_context(|c| &c.shared_config);
        // `CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE`.
        match if own == 0 { config } else { own } {
            2 => BankMode::EightByte,
            _ => BankMode::FourByte,
        }
    }

    /// `cuOccupancyMaxPotentialBlockSize`: the block size of highest occupancy, and the grid that
    /// fills the device with it.
    pub fn best_block_size(
        &self,
        dynamic_shared: impl Fn(u32) -> u64,
        limit: u32,
    ) -> Result<(u32, u32)> {
        let sm_count = runtime::get().device(self.module.device)?.gpu.card.sm_count.value;
        let most = self.max_threads()?;
        let most = if limit == 0 { most } else { most.min(limit) };
        let mut best = (0, 0, 0);
        let whole_warps = (1..=most.div_ceil(Limits::WARP_SIZE)).rev();
        for threads in whole_warps.map(|w| (w * Limits::WARP_SIZE).min(most)) {
            let Ok(shared) = u32::try_from(dynamic_shared(threads)) else { continue };
            if shared > self.dynamic_shared_limit()? {
                continue;
            }
            let blocks = self.blocks_per_sm(threads, shared)?;
            if blocks * threads > best.0 {
                best = (blocks * threads, threads, blocks);
            }
        }
        Ok((best.2 * sm_count, best.1))
    }
}

/// Threads of three dimensions, of which 0 counts as 1.
fn volume(d: [u32; 3]) -> u32 {
    d.iter().fold(1u32, |p, n| p.saturating_mul((*n).max(1)))
}

fn blocks(
    limits: &Limits,
    threads: u32,
    registers: u32,
    shared: u32,
    split: SplitPreference,
) -> u32 {
    let kernel = LaunchResources {
        threads_per_block: threads,
        registers_per_thread: registers,
        shared_per_block: shared,
    };
    margay_arch::occupancy_with(limits, &kernel, split).blocks_per_sm
}

/// Registers of a thread, from the kernel's directives and the estimate.
pub(crate) fn registers_for(limits: &Limits, directives: &ir::LaunchLimits, estimate: u32) -> u32 {
    Registers::of(limits, directives, estimate).number
}

/// Registers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Registers {
    number: u32,
    /// A cap (`.maxnreg`, `-maxrregcount`, `CU_JIT_MAX_REGISTERS`) is that number.
    decided: bool,
}

impl Registers {
    fn of(limits: &Limits, directives: &ir::LaunchLimits, estimate: u32) -> Registers {
        let mut number = estimate.clamp(1, limits.max_registers_per_thread.value);
        if let Some(most) = directives.maxnreg
            && number >= most
        {
            return Registers { number: most.max(1), decided: true };
        }
        // Launch bounds make ptxas spill until so many blocks of that size fit.
        if let Some(shape) = directives.reqntid.or(directives.maxntid) {
            let threads = volume(shape).min(limits.max_threads_per_block.value);
            let wanted = directives.minnctapersm.unwrap_or(1);
            let enough = |registers| {
                blocks(limits, threads, registers, 0, SplitPreference::Default) >= wanted
            };
            if enough(1) {
                number = (1..=number).rev().find(|n| enough(*n)).unwrap_or(1);
            }
        }
        Registers { number, decided: false }
    }
}

/// Resident blocks of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fit {
    /// With the registers that the kernel probably has; at least one if one can be.
    likely: u32,
    /// With as few registers as it could have.
    most: u32,
    /// By the estimate, no block fits.
    doubtful: bool,
}

impl Fit {
    fn of(
        limits: &Limits,
        registers: Registers,
        threads: u32,
        shared: u32,
        split: SplitPreference,
    ) -> Fit {
        let likely = blocks(limits, threads, registers.number, shared, split);
        // A preference keeps no block from being resident.
        let any = SplitPreference::Default;
        if registers.decided {
            let most = blocks(limits, threads, registers.number, shared, any);
            return Fit { likely, most, doubtful: false };
        }
        let most = blocks(limits, threads, 1, shared, any);
        Fit { likely: likely.max(most.min(1)), most, doubtful: likely == 0 && most > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hopper() -> &'static Limits {
        margay_arch::ComputeCapability::from_sm(90).limits().unwrap()
    }

    fn fit(directives: &ir::LaunchLimits, estimate: u32, threads: u32) -> Fit {
        Fit::of(
            hopper(),
            Registers::of(hopper(), directives, estimate),
            threads,
            0,
            SplitPreference::Default,
        )
    }

    #[test]
    fn an_estimate_only_warns() {
        let fit = fit(&ir::LaunchLimits::default(), 200, 1024);
        assert_eq!(fit, Fit { likely: 1, most: 2, doubtful: true });
    }

    #[test]
    fn a_cap_refuses_blocks_that_do_not_fit() {
        let capped = |n| ir::LaunchLimits { maxnreg: Some(n), ..Default::default() };
        assert_eq!(fit(&capped(128), 200, 1024), Fit { likely: 0, most: 0, doubtful: false });
        assert_eq!(fit(&capped(64), 200, 1024), Fit { likely: 1, most: 1, doubtful: false });
        // The cap is far above what the kernel seems to need, so it decides nothing.
        assert_eq!(fit(&capped(128), 32, 1024), Fit { likely: 2, most: 2, doubtful: false });
    }

    #[test]
    fn launch_bounds_make_their_blocks_fit() {
        let bounds = |threads, blocks| ir::LaunchLimits {
            maxntid: Some([threads, 1, 1]),
            minnctapersm: blocks,
            ..Default::default()
        };
        assert_eq!(Registers::of(hopper(), &bounds(1024, None), 200).number, 64);
        assert_eq!(Registers::of(hopper(), &bounds(1024, Some(2)), 200).number, 32);
        assert_eq!(fit(&bounds(256, Some(4)), 200, 256).likely, 4);
        // More than the SM can hold is a wish that nothing grants.
        assert_eq!(Registers::of(hopper(), &bounds(1024, Some(3)), 200).number, 200);
    }

    #[test]
    fn what_does_not_fit_without_registers_is_refused() {
        let registers = Registers::of(hopper(), &ir::LaunchLimits::default(), 16);
        assert_eq!(Fit::of(hopper(), registers, 32, 300 << 10, SplitPreference::Default).most, 0);
    }
}
