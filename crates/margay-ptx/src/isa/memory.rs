// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data movement: registers, loads and stores, cache control, asynchronous copies, the stack
//! (PTX ISA, sections 9.7.9 and 9.7.17).
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
.type = .b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64
.vec = .v2 .v4 .v8
.scope = .cta .cluster .gpu .sys
.L1::priority = .L1::evict_normal .L1::evict_unchanged .L1::evict_first .L1::evict_last .L1::no_allocate
.L2::priority = .L2::evict_normal .L2::evict_first .L2::evict_last
.hint = .L2::cache_hint
.prefetch_size = .L2::64B .L2::128B .L2::256B

# mov  data-movement-and-conversion-instructions-mov
@ ptx 1.0 sm_10
.type = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64
mov.type d, a
mov.pred d, {!}a
@ ptx 8.3 sm_70
mov.b128 d, a
@ ptx 1.0 sm_10
.type = .b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64
mov.vec.type d, a

# shfl  data-movement-and-conversion-instructions-shfl
@ ptx 3.0 sm_30
.mode = .up .down .bfly .idx
shfl.mode.b32 d{|p}, a, b, c

# shfl.sync  data-movement-and-conversion-instructions-shfl-sync
@ ptx 6.0 sm_30
.mode = .up .down .bfly .idx
shfl.sync.mode.b32 d{|p}, a, b, c, membermask

# prmt  data-movement-and-conversion-instructions-prmt
@ ptx 2.0 sm_20
.mode = .f4e .b4e .rc8 .ecl .ecr .rc16
prmt.b32{.mode} d, a, b, c

# ld  data-movement-and-conversion-instructions-ld
@ ptx 1.0 sm_10
.ss = .const .global .local .param .param::entry .param::func .shared .shared::cta .shared::cluster .const[0] .const[1] .const[2] .const[3] .const[4] .const[5] .const[6] .const[7] .const[8] .const[9] .const[10]
.cop = .ca .cg .cs .lu .cv
ld{.weak}{.ss}{.cop}{.hint}{.prefetch_size}{.vec}.type d, [a]{.unified}{, cache-policy}
ld{.weak}{.ss}{.L1::priority}{.L2::priority}{.hint}{.prefetch_size}{.vec}.type d, [a]{.unified}{, cache-policy}
ld.volatile{.ss}{.prefetch_size}{.vec}.type d, [a]
ld{.ss}.volatile{.prefetch_size}{.vec}.type d, [a]
@ ptx 6.0 sm_70
.sem = .relaxed .acquire
ld.sem.scope{.ss}{.L1::priority}{.L2::priority}{.hint}{.prefetch_size}{.vec}.type d, [a]{, cache-policy}
ld.ss.sem.scope{.L1::priority}{.L2::priority}{.hint}{.prefetch_size}{.vec}.type d, [a]{, cache-policy}
@ ptx 8.2 sm_70
ld.mmio.sem.sys{.global}.type d, [a]
@ ptx 9.4 sm_100
ld.proxy::readonly{.global}{.vec}.type d, [a]

# ld  data-movement-and-conversion-instructions-ld-global-nc
@ ptx 3.1 sm_32
.cop = .ca .cg .cs
ld.global{.cop}.nc{.hint}{.prefetch_size}{.vec}.type d, [a]{, cache-policy}
ld.global.nc{.cop}{.hint}{.prefetch_size}{.vec}.type d, [a]{, cache-policy}
@ ptx 7.4 sm_70
ld.global.nc{.L1::priority}{.L2::priority}{.hint}{.prefetch_size}{.vec}.type d, [a]{, cache-policy}

# ldu  data-movement-and-conversion-instructions-ldu
@ ptx 2.0 sm_20
.vec = .v2 .v4
ldu{.global}{.vec}.type d, [a]

# st  data-movement-and-conversion-instructions-st
@ ptx 1.0 sm_10
.ss = .global .local .param .param::func .shared .shared::cta .shared::cluster
.cop = .wb .cg .cs .wt
st{.weak}{.ss}{.cop}{.hint}{.vec}.type [a], b{, cache-policy}
st{.weak}{.ss}{.L1::priority}{.L2::priority}{.hint}{.vec}.type [a], b{, cache-policy}
st.volatile{.ss}{.vec}.type [a], b
st{.ss}.volatile{.vec}.type [a], b
@ ptx 6.0 sm_70
.sem = .relaxed .release
st.sem.scope{.ss}{.L1::priority}{.L2::priority}{.hint}{.vec}.type [a], b{, cache-policy}
st.ss.sem.scope{.L1::priority}{.L2::priority}{.hint}{.vec}.type [a], b{, cache-policy}
@ ptx 8.2 sm_70
st.mmio.sem.sys{.global}.type [a], b
// The manual has no such stores: clang writes them for C++ that casts `const` away. They fault.
@ ptx 1.0 sm_10
st{.weak}.const{.vec}.type [a], b
st.volatile.const{.vec}.type [a], b
@ ptx 6.0 sm_70
st.sem.scope.const{.vec}.type [a], b

# st.async  data-movement-and-conversion-instructions-st-async
@ ptx 8.1 sm_90
.type = .b32 .b64 .b128 .u32 .u64 .s32 .s64 .f32 .f64
.vec = .v2 .v4
.mech = .mbarrier::complete_tx::bytes
st.async{.weak}{.cluster}{.shared::cluster}{.mech}{.vec}.type [a], b, [mbar]
@ ptx 8.7 sm_100
.scope = .gpu .sys
.type = .b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64
st.async{.mmio}.release.scope{.global}.type [a], b

# st.bulk  data-movement-and-conversion-instructions-st-bulk
@ ptx 8.6 sm_100
st.bulk{.weak}{.shared::cta} [a], size, initval

# multimem.ld_reduce  data-movement-and-conversion-instructions-multimem
@ ptx 8.1 sm_90
.sem = .relaxed .acquire
.op = .min .max .add .and .or .xor
.type = .b32 .b64 .u32 .u64 .s32 .s64
multimem.ld_reduce{.sem}{.scope}{.global}.op.type d, [a]
multimem.ld_reduce.weak{.global}.op.type d, [a]
.op = .min .max .add
.acc_prec = .acc::f32 .acc::f16
.type = .f16 .f16x2 .bf16 .bf16x2 .f32 .f64 .e5m2 .e5m2x2 .e5m2x4 .e4m3 .e4m3x2 .e4m3x4
multimem.ld_reduce{.sem}{.scope}{.global}.op{.acc_prec}{.vec}.type d, [a]
multimem.ld_reduce.weak{.global}.op{.acc_prec}{.vec}.type d, [a]

# multimem.st  data-movement-and-conversion-instructions-multimem
.sem = .relaxed .release
.type = .b32 .b64 .u32 .u64 .s32 .s64 .f16 .f16x2 .bf16 .bf16x2 .f32 .f64 .e5m2 .e5m2x2 .e5m2x4 .e4m3 .e4m3x2 .e4m3x4
multimem.st{.sem}{.scope}{.global}{.vec}.type [a], b
multimem.st.weak{.global}{.vec}.type [a], b

# multimem.red  data-movement-and-conversion-instructions-multimem
.sem = .relaxed .release
.op = .min .max .add .and .or .xor
.type = .b32 .b64 .u32 .u64 .s32 .s64
multimem.red{.sem}{.scope}{.global}.op.type [a], b
.type = .f16 .f16x2 .bf16 .bf16x2 .f32 .f64
multimem.red{.sem}{.scope}{.global}.add{.vec}.type [a], b

# multimem.st.async  data-movement-and-conversion-instructions-multimem-st-async
@ ptx 9.3 sm_100
.scope = .gpu .sys
.type = .b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64
multimem.st.async.release.scope{.global}.type [a], b

# multimem.red.async  data-movement-and-conversion-instructions-multimem-red-async
.scope = .gpu .sys
.type = .u32 .s32 .u64
multimem.red.async.release.scope{.global}.add.type [a], b

# multimem.cp.async.bulk  data-movement-and-conversion-instructions-multimem-cp-async-bulk
@ ptx 9.1 sm_90
multimem.cp.async.bulk.global.shared::cta.bulk_group{.cp_mask} [dstMem], [srcMem], size{, byteMask}

# multimem.cp.reduce.async.bulk  data-movement-and-conversion-instructions-multimem-cp-reduce-async-bulk
.redOp = .and .or .xor .add .inc .dec .min .max
.type = .f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64
multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.redOp{.noftz}.type [dstMem], [srcMem], size

# prefetch  data-movement-and-conversion-instructions-prefetch-prefetchu
@ ptx 2.0 sm_20
.space = .global .local
.cache = .L1 .L2
prefetch{.space}.cache [a]
@ ptx 7.4 sm_80
.eviction = .L2::evict_last .L2::evict_normal
prefetch.global.eviction [a]
@ ptx 8.0 sm_90
.space = .const .param
prefetch{.space}.tensormap [a]
@ ptx 9.4 sm_100
prefetch{.global}.L1::32B.valid_addr [a]

# prefetchu  data-movement-and-conversion-instructions-prefetch-prefetchu
@ ptx 2.0 sm_20
prefetchu.L1 [a]

# applypriority  data-movement-and-conversion-instructions-applypriority
@ ptx 7.4 sm_80
applypriority{.global}.L2::evict_normal [a], size

# applypriority.async.bulk  data-movement-and-conversion-instructions-applypriority-async-bulk
@ ptx 9.4 sm_107f
applypriority.async.bulk.bulk_group{.global}.L2::evict_normal [a], size

# discard  data-movement-and-conversion-instructions-discard
@ ptx 7.4 sm_80
discard{.global}.L2 [a], size

# createpolicy  data-movement-and-conversion-instructions-createpolicy
.primary_priority = .L2::evict_last .L2::evict_normal .L2::evict_first .L2::evict_unchanged
.secondary_priority = .L2::evict_first .L2::evict_unchanged
createpolicy.range{.global}.primary_priority{.secondary_priority}.b64 policy, [a], primary-size, total-size
createpolicy.fractional.primary_priority{.secondary_priority}.b64 policy{, fraction}
createpolicy.cvt.L2.b64 policy, access-property

# cp.async  data-movement-and-conversion-instructions-cp-async
@ ptx 7.0 sm_80
.cop = .ca .cg
.state = .shared .shared::cta
cp.async.cop.state.global{.hint}{.prefetch_size} [dst], [src], cp-size{, src-size}{, cache-policy}

# cp.async.commit_group  data-movement-and-conversion-instructions-cp-async-commit-group
cp.async.commit_group

# cp.async.wait_group  data-movement-and-conversion-instructions-cp-async-wait-group-cp-async-wait-all
cp.async.wait_group N

# cp.async.wait_all  data-movement-and-conversion-instructions-cp-async-wait-group-cp-async-wait-all
cp.async.wait_all

# cp.async.mbarrier.arrive  parallel-synchronization-and-communication-instructions-cp-async-mbarrier-arrive
.state = .shared .shared::cta
cp.async.mbarrier.arrive{.noinc}{.state}.b64 [addr]

# cp.async.bulk  data-movement-and-conversion-instructions-cp-async-bulk
@ ptx 8.0 sm_90
.mech = .mbarrier::complete_tx::bytes
.multicast = .multicast::cluster .multicast::cluster::16b .multicast::cluster::32b
cp.async.bulk{.weak}.shared::cta.global.mech{.hint} [dstMem], [srcMem], size, [mbar]{, cache-policy}
cp.async.bulk{.weak}.shared::cluster.global.mech{.multicast}{.hint} [dstMem], [srcMem], size, [mbar]{, ctaMask}{, cache-policy}
cp.async.bulk{.weak}.shared::cluster.shared::cta.mech [dstMem], [srcMem], size, [mbar]
cp.async.bulk{.weak}.global.shared::cta.bulk_group{.hint}{.cp_mask} [dstMem], [srcMem], size{, cache-policy}{, byteMask}
@ ptx 9.3 sm_90
.scope = .cta .cluster .gpu .sys
cp.async.bulk.relaxed.scope.shared::cta.global.mech{.hint}.b128 [dstMem], [srcMem], size, [mbar]{, cache-policy}
cp.async.bulk.relaxed.scope.shared::cluster.global.mech{.multicast}{.hint}.b128 [dstMem], [srcMem], size, [mbar]{, ctaMask}{, cache-policy}
cp.async.bulk.relaxed.scope.shared::cluster.shared::cta.mech.b128 [dstMem], [srcMem], size, [mbar]
cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group{.hint}.b128 [dstMem], [srcMem], size{, cache-policy}
@ ptx 9.2 sm_90
cp.async.bulk.shared::cta.global.mech{.hint}.ignore_oob [dstMem], [srcMem], size, ignoreBytesLeft, ignoreBytesRight, [mbar]{, cache-policy}

# cp.async.bulk.commit_group  data-movement-and-conversion-instructions-cp-async-bulk-commit-group
@ ptx 8.0 sm_90
cp.async.bulk.commit_group

# cp.async.bulk.wait_group  data-movement-and-conversion-instructions-cp-async-bulk-wait-group
cp.async.bulk.wait_group{.read} N

# cp.async.bulk.prefetch  data-movement-and-conversion-instructions-cp-async-bulk-prefetch
cp.async.bulk.prefetch.L2.global{.hint} [srcMem], size{, cache-policy}

# cp.async.bulk.tensor  data-movement-and-conversion-instructions-cp-async-bulk-tensor
.dim = .1d .2d .3d .4d .5d
.mech = .mbarrier::complete_tx::bytes
.cta_group = .cta_group::1 .cta_group::2
.load_mode = .tile .tile::gather4 .im2col .im2col::w .im2col::w::128
.multicast = .multicast::cluster .multicast::cluster::16b .multicast::cluster::32b
cp.async.bulk.tensor.dim.shared::cta.global{.load_mode}.mech{.cta_group}{.hint} [dstMem], [tensorMap, tensorCoords], [mbar]{, im2colInfo}{, cache-policy}
cp.async.bulk.tensor.dim.shared::cluster.global{.load_mode}.mech{.multicast}{.cta_group}{.hint} [dstMem], [tensorMap, tensorCoords], [mbar]{, im2colInfo}{, ctaMask}{, cache-policy}
.load_mode = .tile .tile::scatter4 .im2col_no_offs .im2col_no_offs::w
cp.async.bulk.tensor.dim.global.shared::cta{.load_mode}.bulk_group{.hint} [tensorMap, tensorCoords], [srcMem]{, cache-policy}

# cp.async.bulk.prefetch.tensor  data-movement-and-conversion-instructions-cp-async-bulk-prefetch-tensor
.dim = .1d .2d .3d .4d .5d
.load_mode = .tile .tile::gather4 .im2col .im2col::w .im2col::w::128
cp.async.bulk.prefetch.tensor.dim.L2.global{.load_mode}{.hint} [tensorMap, tensorCoords]{, im2colInfo}{, cache-policy}

# cp.reduce.async.bulk  data-movement-and-conversion-instructions-cp-reduce-async-bulk
.mech = .mbarrier::complete_tx::bytes
.redOp = .and .or .xor .add .inc .dec .min .max
.type = .b32 .u32 .s32 .b64 .u64 .s64
cp.reduce.async.bulk.shared::cluster.shared::cta.mech.redOp.type [dstMem], [srcMem], size, [mbar]
.type = .f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64
cp.reduce.async.bulk.global.shared::cta.bulk_group{.hint}.redOp.type [dstMem], [srcMem], size{, cache-policy}
.type = .f16 .bf16
cp.reduce.async.bulk.global.shared::cta.bulk_group{.hint}.add.noftz.type [dstMem], [srcMem], size{, cache-policy}

# cp.reduce.async.bulk.tensor  data-movement-and-conversion-instructions-cp-reduce-async-bulk-tensor
.dim = .1d .2d .3d .4d .5d
.redOp = .add .min .max .inc .dec .and .or .xor
.load_mode = .tile .im2col_no_offs .im2col_no_offs::w
cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{.load_mode}.bulk_group{.hint} [tensorMap, tensorCoords], [srcMem]{, cache-policy}

# tensormap.replace  data-movement-and-conversion-instructions-tensormap-replace
@ ptx 8.3 sm_90a
.ss = .global .shared::cta
.type = .b32 .b64
.field = .global_address .rank .elemtype .interleave_layout .swizzle_mode .swizzle_atomicity .fill_mode
tensormap.replace.tile.field{.ss}.b1024.type [addr], new-val
.field = .box_dim .global_dim .global_stride .element_stride
tensormap.replace.tile.field{.ss}.b1024.type [addr], ord, new-val

# tensormap.cp_fenceproxy  parallel-synchronization-and-communication-instructions-tensormap-cp-fenceproxy
@ ptx 8.3 sm_90
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], size

# alloca  stack-manipulation-instructions-alloca
@ ptx 7.3 sm_52
.type = .u32 .u64
alloca.type ptr, size{, immAlign}

# stacksave  stack-manipulation-instructions-stacksave
.type = .u32 .u64
stacksave.type d

# stackrestore  stack-manipulation-instructions-stackrestore
.type = .u32 .u64
stackrestore.type a
";
