// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for and writes of values in stream order, in batches and in graphs; attributes of streams; copies
//! in batches; events of whole contexts.

mod common;

use std::ptr::{null, null_mut};

use common::*;

fn stream() -> CUstream {
    let mut stream = null_mut();
    // SAFETY: a pointer to a local. Non-blocking, so that copies of the default stream do not wait.
    ok(unsafe { cuStreamCreate(&mut stream, 1) });
    stream
}

#[test]
fn a_stream_waits_until_another_writes() {
    let session = Session::new();
    let word = session.alloc(8);
    let (waits, writes) = (stream(), stream());
    // SAFETY: addresses and handles of the calls.
    unsafe {
        upload(word, &[0u32, 0]);
        ok(cuStreamWaitValue32_v2(waits, word, 3, 1));
        ok(cuStreamWriteValue32_v2(waits, word + 4, 9, 0));
        assert_eq!(cuStreamQuery(waits), CUresult::CUDA_ERROR_NOT_READY);
        ok(cuStreamWriteValue32_v2(writes, word, 3, 0));
        ok(cuStreamSynchronize(waits));
        assert_eq!(download::<u32>(word, 2), [3, 9]);
        // 64 bits; a word, a flag and an address that are wrong.
        ok(cuStreamWriteValue64_v2(writes, word, 1 << 40, 0));
        ok(cuStreamWaitValue64_v2(writes, word, 1 << 40, 2));
        ok(cuStreamSynchronize(writes));
        fails(cuStreamWaitValue64_v2(writes, word + 4, 0, 0), INVALID_VALUE);
        fails(cuStreamWaitValue32_v2(writes, word + 8, 0, 0), INVALID_VALUE);
        fails(cuStreamWaitValue32_v2(writes, word, 0, 7), INVALID_VALUE);
        let flush = CUresult::CUDA_ERROR_NOT_SUPPORTED;
        fails(cuStreamWaitValue32_v2(writes, word, 0, 0x4000_0000), flush);
    }
}

#[test]
fn a_batch_of_operations_alone_and_in_a_graph() {
    let session = Session::new();
    let word = session.alloc(8);
    let stream = stream();
    // SAFETY: pointers to locals; the unions' fields are those of their operations.
    unsafe {
        let mut list: [CUstreamBatchMemOpParams; 2] = std::mem::zeroed();
        list[0].operation = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32;
        list[0].writeValue.address = word;
        list[0].writeValue.__bindgen_anon_1.value = 7;
        list[1].operation = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_32;
        list[1].waitValue.address = word;
        list[1].waitValue.__bindgen_anon_1.value = 7;
        list[1].waitValue.flags = 1;
        ok(cuStreamBatchMemOp_v2(stream, 2, list.as_mut_ptr(), 0));
        ok(cuStreamSynchronize(stream));
        assert_eq!(download::<u32>(word, 1), [7]);
        fails(cuStreamBatchMemOp_v2(stream, 257, list.as_mut_ptr(), 0), INVALID_VALUE);

        let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
        ok(cuGraphCreate(&mut graph, 0));
        list[0].writeValue.__bindgen_anon_1.value = 8;
        list[1].waitValue.__bindgen_anon_1.value = 8;
        let params = CUDA_BATCH_MEM_OP_NODE_PARAMS {
            ctx: session.context,
            count: 2,
            paramArray: list.as_mut_ptr(),
            flags: 0,
        };
        ok(cuGraphAddBatchMemOpNode(&mut node, graph, null(), 0, &params));
        let mut got: CUDA_BATCH_MEM_OP_NODE_PARAMS = std::mem::zeroed();
        ok(cuGraphBatchMemOpNodeGetParams(node, &mut got));
        assert_eq!((got.count, (*got.paramArray).writeValue.__bindgen_anon_1.value), (2, 8));
        ok(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(download::<u32>(word, 1), [8]);

        // The same as captured work.
        ok(cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED));
        ok(cuStreamWriteValue32_v2(stream, word, 10, 0));
        let mut captured = null_mut();
        ok(cuStreamEndCapture(stream, &mut captured));
        let mut count = 0;
        ok(cuGraphGetNodes(captured, null_mut(), &mut count));
        assert_eq!((count, download::<u32>(word, 1)[0]), (1, 8));
        ok(cuGraphInstantiateWithFlags(&mut exec, captured, 0));
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(download::<u32>(word, 1), [10]);
    }
}

#[test]
fn attributes_of_streams_are_kept_and_copied() {
    let _session = Session::new();
    let (a, b) = (stream(), stream());
    let window = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
    let policy = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    let cooperative = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    // SAFETY: pointers to locals; the fields are those of the attributes.
    unsafe {
        let mut value: CUlaunchAttributeValue = std::mem::zeroed();
        ok(cuStreamGetAttribute(a, policy, &mut value));
        // As a number: a driver may have more of them than the enumeration.
        let got = std::ptr::from_ref(&value).cast::<u32>().read();
        // The newest driver says -1 where nobody has set one.
        let unset = real() && got == u32::MAX;
        assert!(unset || got == CUsynchronizationPolicy::CU_SYNC_POLICY_AUTO as u32, "{got}");
        value = std::mem::zeroed();
        value.accessPolicyWindow.num_bytes = 4096;
        value.accessPolicyWindow.hitRatio = 0.5;
        ok(cuStreamSetAttribute(a, window, &value));
        ok(cuStreamCopyAttributes(b, a));
        let mut got: CUlaunchAttributeValue = std::mem::zeroed();
        ok(cuStreamGetAttribute(b, window, &mut got));
        assert_eq!(got.accessPolicyWindow.num_bytes, 4096);
        value.accessPolicyWindow.hitRatio = 1.5;
        fails(cuStreamSetAttribute(a, window, &value), INVALID_VALUE);
        fails(cuStreamSetAttribute(a, cooperative, &value), INVALID_VALUE);
    }
}

#[test]
fn a_batch_of_copies_tells_which_one_is_wrong() {
    let session = Session::new();
    let (a, b) = (session.alloc(64), session.alloc(64));
    let stream = stream();
    upload(a, &[1u32, 2, 3, 4]);
    // SAFETY: pointers to locals of the counts given.
    unsafe {
        let mut attributes: CUmemcpyAttributes = std::mem::zeroed();
        attributes.srcAccessOrder = CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        let (mut to, mut from, mut sizes) = ([b + 4, b], [a, a + 8], [4, 4]);
        let (mut first, mut failed) = ([0], 77);
        let mut batch = |to: &mut [u64; 2], failed: &mut usize, stream| {
            cuMemcpyBatchAsync(
                to.as_mut_ptr(),
                from.as_mut_ptr(),
                sizes.as_mut_ptr(),
                2,
                &mut attributes,
                first.as_mut_ptr(),
                1,
                failed,
                stream,
            )
        };
        ok(batch(&mut to, &mut failed, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(download::<u32>(b, 2), [3, 1]);
        if real() {
            // What lies behind is mapped there.
            return;
        }
        to[1] = b + 64;
        assert_ne!(batch(&mut to, &mut failed, stream), CUresult::CUDA_SUCCESS);
        assert_eq!(failed, 1);
        fails(batch(&mut to, &mut failed, null_mut()), INVALID_VALUE);
        assert_eq!(failed, usize::MAX);
    }
}

#[test]
fn an_event_of_a_whole_context() {
    let session = Session::new();
    let word = session.alloc(8);
    let (held, other) = (stream(), stream());
    let mut event = null_mut();
    // SAFETY: pointers to locals.
    unsafe {
        upload(word, &[0u32, 0]);
        ok(cuEventCreate(&mut event, 2));
        ok(cuStreamWaitValue32_v2(held, word, 1, 1));
        ok(cuCtxRecordEvent(session.context, event));
        assert_eq!(cuEventQuery(event), CUresult::CUDA_ERROR_NOT_READY);
        ok(cuStreamWriteValue32_v2(other, word, 1, 0));
        ok(cuEventSynchronize(event));
        ok(cuCtxWaitEvent(session.context, event));
    }
}
