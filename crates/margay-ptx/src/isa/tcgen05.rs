// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fifth-generation tensor core: `tcgen05` (PTX ISA, "TensorCore 5th Generation Family
//! Instructions").
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
.cta_group = .cta_group::1 .cta_group::2
.num = .x1 .x2 .x4 .x8 .x16 .x32 .x64 .x128
.shape1 = .16x64b .16x128b .16x256b .32x32b
.kind = .kind::f16 .kind::tf32 .kind::f8f6f4 .kind::i8
.mxkind = .kind::mxf8f6f4 .kind::mxf4 .kind::mxf4nvf4
.scale_vec = .scale_vec::1X .scale_vec::2X .scale_vec::4X .block16 .block32
.collector = .collector::a::fill .collector::a::use .collector::a::lastuse .collector::a::discard
.collector_b = .collector::b<0-3:1>::fill .collector::b<0-3:1>::use .collector::b<0-3:1>::lastuse .collector::b<0-3:1>::discard
@ ptx 8.6 sm_100a

# tcgen05.alloc  tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit
tcgen05.alloc.cta_group.sync.aligned{.shared::cta}.b32 [dst], nCols

# tcgen05.dealloc  tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit
tcgen05.dealloc.cta_group.sync.aligned.b32 taddr, nCols

# tcgen05.relinquish_alloc_permit  tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit
tcgen05.relinquish_alloc_permit.cta_group.sync.aligned

# tcgen05.ld  tcgen05-instructions-tcgen05-ld
tcgen05.ld.sync.aligned.shape1.num{.pack::16b}.b32 r, [taddr]
tcgen05.ld.sync.aligned.16x32bx2.num{.pack::16b}.b32 r, [taddr], immHalfSplitoff

# tcgen05.ld.red  tcgen05-instructions-tcgen05-ld
@ ptx 9.0 sm_101a
.redOp = .min .max
.type = .u32 .s32
tcgen05.ld.red.sync.aligned.32x32b.num.redOp{.abs}{.NaN}.f32 r, redval, [taddr]
tcgen05.ld.red.sync.aligned.16x32bx2.num.redOp{.abs}{.NaN}.f32 r, redval, [taddr], immHalfSplitoff
tcgen05.ld.red.sync.aligned.32x32b.num.redOp.type r, redval, [taddr]
tcgen05.ld.red.sync.aligned.16x32bx2.num.redOp.type r, redval, [taddr], immHalfSplitoff

# tcgen05.st  tcgen05-instructions-tcgen05-st
@ ptx 8.6 sm_100a
tcgen05.st.sync.aligned.shape1.num{.unpack::16b}.b32 [taddr], r
tcgen05.st.sync.aligned.16x32bx2.num{.unpack::16b}.b32 [taddr], immHalfSplitoff, r

# tcgen05.wait::ld  tcgen05-instructions-tcgen05-wait
tcgen05.wait::ld.sync.aligned

# tcgen05.wait::st  tcgen05-instructions-tcgen05-wait
tcgen05.wait::st.sync.aligned

# tcgen05.cp  tcgen05-instructions-tcgen05-cp
.shape = .128x256b .4x256b .128x128b
.src_fmt = .b6x16_p32 .b4x16_p64
.multicast = .warpx2::02_13 .warpx2::01_23
tcgen05.cp.cta_group.shape{.b8x16.src_fmt} [taddr], s-desc
tcgen05.cp.cta_group.64x128b.multicast{.b8x16.src_fmt} [taddr], s-desc
tcgen05.cp.cta_group.32x128b.warpx4{.b8x16.src_fmt} [taddr], s-desc

# tcgen05.shift  tcgen05-instructions-tcgen05-shift
tcgen05.shift.cta_group.down [taddr]

# tcgen05.mma  tcgen05-instructions-tcgen05-mma
tcgen05.mma.cta_group.kind{.collector} [d-tmem], a-desc, b-desc, idesc{, {disable-output-lane}}, enable-input-d{, scale-input-d}
tcgen05.mma.cta_group.kind{.ashift}{.collector} [d-tmem], [a-tmem], b-desc, idesc{, {disable-output-lane}}, enable-input-d{, scale-input-d}
tcgen05.mma.cta_group.mxkind.block_scale{.scale_vec}{.collector} [d-tmem], a-desc, b-desc, idesc, [scale-A-tmem], [scale-B-tmem], enable-input-d
tcgen05.mma.cta_group.mxkind.block_scale{.scale_vec}{.ashift}{.collector} [d-tmem], [a-tmem], b-desc, idesc, [scale-A-tmem], [scale-B-tmem], enable-input-d

# tcgen05.mma.sp  tcgen05-instructions-tcgen05-mma-sp
tcgen05.mma.sp.cta_group.kind{.collector} [d-tmem], a-desc, b-desc, [sp-meta-tmem], idesc{, {disable-output-lane}}, enable-input-d{, scale-input-d}
tcgen05.mma.sp.cta_group.kind{.ashift}{.collector} [d-tmem], [a-tmem], b-desc, [sp-meta-tmem], idesc{, {disable-output-lane}}, enable-input-d{, scale-input-d}
tcgen05.mma.sp.cta_group.mxkind.block_scale{.scale_vec}{.collector} [d-tmem], a-desc, b-desc, [sp-meta-tmem], idesc, [scale-A-tmem], [scale-B-tmem], enable-input-d
tcgen05.mma.sp.cta_group.mxkind.block_scale{.scale_vec}{.ashift}{.collector} [d-tmem], [a-tmem], b-desc, [sp-meta-tmem], idesc, [scale-A-tmem], [scale-B-tmem], enable-input-d

# tcgen05.mma.ws  tcgen05-instructions-tcgen05-mma-ws
tcgen05.mma.ws.cta_group::1.kind{.collector_b} [d-tmem], a-desc, b-desc, idesc, enable-input-d{, zero-column-mask-desc}
tcgen05.mma.ws.cta_group::1.kind{.collector_b} [d-tmem], [a-tmem], b-desc, idesc, enable-input-d{, zero-column-mask-desc}

# tcgen05.mma.ws.sp  tcgen05-instructions-tcgen05-mma-ws-sp
tcgen05.mma.ws.sp.cta_group::1.kind{.collector_b} [d-tmem], a-desc, b-desc, [sp-meta-tmem], idesc, enable-input-d{, zero-column-mask-desc}
tcgen05.mma.ws.sp.cta_group::1.kind{.collector_b} [d-tmem], [a-tmem], b-desc, [sp-meta-tmem], idesc, enable-input-d{, zero-column-mask-desc}

# tcgen05.fence::before_thread_sync  tcgen05-instructions-tcgen05-fence
tcgen05.fence::before_thread_sync

# tcgen05.fence::after_thread_sync  tcgen05-instructions-tcgen05-fence
tcgen05.fence::after_thread_sync

# tcgen05.commit  tcgen05-instructions-tcgen05-commit
.mech = .mbarrier::arrive::one
.multicast = .multicast::cluster .multicast::cluster::16b .multicast::cluster::32b
tcgen05.commit.cta_group.mech{.shared::cluster}{.multicast}.b64 [mbar]{, ctaMask}
";
