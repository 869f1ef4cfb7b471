// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels: what they need, what may be set on them, and how many fit on a multiprocessor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use margay_arch::{LaunchResources, Limits};
use margay_exec::program::{LinkError, Program, ProgramInfo};
use margay_ir as ir;
use parking_lot::Mutex;

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
    pub non_portable_cluster: bool,
    pub cluster_scheduling: u32,
    /// Required cluster size set by attribute; zeros if not.
    pub required_cluster: [u32; 3],
}

/// A kernel of a module.
pub struct Function {
    pub handle: Handle,
    pub module: Arc<Module>,
    pub id: ir::FuncId,
    pub settings: Mutex<FunctionSettings>,
    warned: AtomicBool,
    program: OnceLock<std::result::Result<Arc<Program>, CudaError>>,
}

impl Function {
    pub(crate) fn of(module: &Arc<Module>, id: ir::FuncId) -> Function {
        let settings = FunctionSettings { carveout: -1, ..FunctionSettings::default() };
        Function {
            handle: handle::fresh(),
            module: module.clone(),
            id,
            settings: Mutex::new(settings),
            warned: AtomicBool::new(false),
            program: OnceLock::new(),
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
        let limits = self.limits();
        let estimate = self.info()?.registers.clamp(1, limits.max_registers_per_thread.value);
        match self.code().limits.maxnreg {
            Some(most) if estimate >= most => Ok((most.max(1), true)),
            Some(_) | None => Ok((estimate, false)),
        }
    }

    /// The most threads that a block of this kernel may have.
    pub fn max_threads(&self) -> Result<u32> {
        let limits = self.limits();
        let directives = &self.code().limits;
        let product = |d: [u32; 3]| d.iter().fold(1u32, |p, n| p.saturating_mul((*n).max(1)));
        let bound = directives.reqntid.or(directives.maxntid).map(product);
        let most = limits.max_threads_per_block.value;
        let (registers, decided) = self.registers()?;
        if !decided {
            return Ok(bound.unwrap_or(most).min(most));
        }
        let fits = |threads: &u32| {
            let kernel = LaunchResources {
                threads_per_block: *threads,
                registers_per_thread: registers,
                shared_per_block: 0,
            };
            margay_arch::occupancy(limits, &kernel).blocks_per_sm > 0
        };
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

    /// Resident blocks of an SM. An estimate of registers never makes a launch impossible.
    pub fn blocks_per_sm(&self, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let limits = self.limits();
        let (registers, decided) = self.registers()?;
        let shared = self.info()?.static_shared.saturating_add(dynamic_shared);
        let blocks = |registers_per_thread| {
            let kernel = LaunchResources {
                threads_per_block: threads,
                registers_per_thread,
                shared_per_block: shared,
            };
            margay_arch::occupancy(limits, &kernel).blocks_per_sm
        };
        let plain = blocks(registers);
        if plain > 0 || decided {
            return Ok(plain);
        }
        let least = blocks(1).min(1);
        if least > 0 && !self.warned.swap(true, Ordering::Relaxed) {
            crate::report::warn(&format!(
                "kernel {} seems to need {registers} registers a thread, too many for blocks of \
                 {threads} threads: a card may refuse the launch (701); __launch_bounds__ or \
                 -maxrregcount would decide it",
                self.name()
            ));
        }
        Ok(least)
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
