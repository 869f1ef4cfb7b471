// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for and writes of values in memory, as work of streams and as nodes of graphs.

use std::ffi::c_uint;

use margay_runtime::memory_op::{Action, Compare, MemoryOp};
use margay_runtime::{CudaError, Result};

use super::{healthy, required, stream_of};
use crate::sys::*;

fn compare(flags: c_uint) -> Result<Compare> {
    // There are no remote writes to flush, which the device's attributes say.
    if flags & CU_STREAM_WAIT_VALUE_FLUSH != 0 {
        return Err(CudaError::NotSupported);
    }
    match flags {
        CU_STREAM_WAIT_VALUE_GEQ => Ok(Compare::Geq),
        CU_STREAM_WAIT_VALUE_EQ => Ok(Compare::Eq),
        CU_STREAM_WAIT_VALUE_AND => Ok(Compare::And),
        CU_STREAM_WAIT_VALUE_NOR => Ok(Compare::Nor),
        _ => Err(CudaError::InvalidValue),
    }
}

fn write_flags(flags: c_uint) -> Result<()> {
    match flags {
        CU_STREAM_WRITE_VALUE_DEFAULT | CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER => Ok(()),
        _ => Err(CudaError::InvalidValue),
    }
}

fn push(stream: CUstream, ops: &[MemoryOp]) -> Result<()> {
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    stream.owner()?.memory_ops(&stream, ops)
}

macro_rules! single {
    ($( $wait:ident $write:ident $value:ty, $wide:literal; )*) => { $(
        pub unsafe fn $wait(
            stream: CUstream,
            address: CUdeviceptr,
            value: $value,
            flags: c_uint,
        ) -> Result<()> {
            let (action, value) = (Action::Wait(compare(flags)?), value.into());
            push(stream, &[MemoryOp { action, address, wide: $wide, value }])
        }

        pub unsafe fn $write(
            stream: CUstream,
            address: CUdeviceptr,
            value: $value,
            flags: c_uint,
        ) -> Result<()> {
            write_flags(flags)?;
            let (action, value) = (Action::Write, value.into());
            push(stream, &[MemoryOp { action, address, wide: $wide, value }])
        }
    )* };
}

single! {
    cuStreamWaitValue32_v2 cuStreamWriteValue32_v2 cuuint32_t, false;
    cuStreamWaitValue64_v2 cuStreamWriteValue64_v2 cuuint64_t, true;
}

/// The program's operations. Barriers and flushes order what is in order here anyway.
pub unsafe fn operations(
    list: *mut CUstreamBatchMemOpParams,
    count: c_uint,
) -> Result<Vec<MemoryOp>> {
    required(list)?;
    // The driver takes at most 256.
    if count > 256 {
        return Err(CudaError::InvalidValue);
    }
    let mut ops = Vec::with_capacity(count as usize);
    for at in 0..count as usize {
        // SAFETY: the program's array has `count` elements; the operation says which field is set.
        unsafe {
            let one = list.add(at).read_unaligned();
            let wait = one.waitValue;
            let write = one.writeValue;
            match one.operation {
                CU_STREAM_MEM_OP_WAIT_VALUE_32 | CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
                    let wide = one.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
                    let value = match wide {
                        true => wait.__bindgen_anon_1.value64,
                        false => wait.__bindgen_anon_1.value.into(),
                    };
                    let action = Action::Wait(compare(wait.flags)?);
                    ops.push(MemoryOp { action, address: wait.address, wide, value });
                }
                CU_STREAM_MEM_OP_WRITE_VALUE_32 | CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
                    let wide = one.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
                    let value = match wide {
                        true => write.__bindgen_anon_1.value64,
                        false => write.__bindgen_anon_1.value.into(),
                    };
                    write_flags(write.flags)?;
                    let (action, address) = (Action::Write, write.address);
                    ops.push(MemoryOp { action, address, wide, value });
                }
                CU_STREAM_MEM_OP_ATOMIC_REDUCTION => {
                    let p = one.atomicReduction;
                    let action = match p.reductionOp {
                        CU_STREAM_ATOMIC_REDUCTION_OP_ADD => Action::Add,
                        CU_STREAM_ATOMIC_REDUCTION_OP_AND => Action::And,
                        CU_STREAM_ATOMIC_REDUCTION_OP_OR => Action::Or,
                        _ => return Err(CudaError::InvalidValue),
                    };
                    let wide = match p.dataType {
                        CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32 => false,
                        CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64 => true,
                        _ => return Err(CudaError::InvalidValue),
                    };
                    ops.push(MemoryOp { action, address: p.address, wide, value: p.value });
                }
                CU_STREAM_MEM_OP_BARRIER => {}
                CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => return Err(CudaError::NotSupported),
                _ => return Err(CudaError::InvalidValue),
            }
        }
    }
    Ok(ops)
}

pub unsafe fn cuStreamBatchMemOp_v2(
    stream: CUstream,
    count: c_uint,
    list: *mut CUstreamBatchMemOpParams,
    flags: c_uint,
) -> Result<()> {
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    let ops = unsafe { operations(list, count)? };
    push(stream, &ops)
}
