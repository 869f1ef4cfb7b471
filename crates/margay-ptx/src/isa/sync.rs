// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parallel synchronisation and communication (PTX ISA, the section of that name): barriers,
//! fences, atomics, votes, `mbarrier`, cluster launch control.
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
.scope = .cta .cluster .gpu .sys
.space = .global .shared .shared::cta .shared::cluster
.hint = .L2::cache_hint
.state = .shared .shared::cta

# bar  parallel-synchronization-and-communication-instructions-bar
@ ptx 1.0 sm_10
.op = .and .or
bar{.cta}.sync a{, b}
bar{.cta}.arrive a, b
bar{.cta}.red.popc.u32 d, a{, b}, {!}c
bar{.cta}.red.op.pred p, a{, b}, {!}c

# bar.warp.sync  parallel-synchronization-and-communication-instructions-bar-warp-sync
@ ptx 6.0 sm_30
bar.warp.sync membermask

# barrier  parallel-synchronization-and-communication-instructions-bar
@ ptx 6.0 sm_30
.op = .and .or
barrier{.cta}.sync{.aligned} a{, b}
barrier{.cta}.arrive{.aligned} a, b
barrier{.cta}.red.popc{.aligned}.u32 d, a{, b}, {!}c
barrier{.cta}.red.op{.aligned}.pred p, a{, b}, {!}c

# barrier.cluster  parallel-synchronization-and-communication-instructions-barrier-cluster
@ ptx 7.8 sm_90
.sem = .release .relaxed
barrier.cluster.arrive{.sem}{.aligned}
barrier.cluster.wait{.acquire}{.aligned}

# membar  parallel-synchronization-and-communication-instructions-membar
@ ptx 1.4 sm_10
.extent = .cta .gl .sys
membar.extent
@ ptx 7.5 sm_70
.proxykind = .alias .async
membar.proxy.proxykind

# fence  parallel-synchronization-and-communication-instructions-membar
@ ptx 6.0 sm_70
.sem = .sc .acq_rel .acquire .release
fence{.sem}.scope
@ ptx 8.6 sm_90
fence.acquire.sync_restrict::shared::cluster.cluster
fence.release.sync_restrict::shared::cta.cluster
@ ptx 8.0 sm_90
fence.mbarrier_init.release.cluster
@ ptx 7.5 sm_70
.proxykind = .alias .async
fence.proxy.proxykind
.proxyspace = .global .shared::cta .shared::cluster
fence.proxy.async.proxyspace
@ ptx 8.3 sm_90
.dir = .tensormap::generic
fence.proxy.dir.release.scope
fence.proxy.dir.acquire.scope [addr], size
@ ptx 8.6 sm_90
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster

# atom  parallel-synchronization-and-communication-instructions-atom
@ ptx 1.1 sm_11
.sem = .relaxed .acquire .release .acq_rel
.op = .and .or .xor .exch .add .inc .dec .min .max
.type = .b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64
atom{.sem}{.scope}{.space}.op{.hint}.type d, [a], b{, cache-policy}
atom{.space}{.sem}{.scope}.op{.hint}.type d, [a], b{, cache-policy}
.type = .b16 .b32 .b64 .u32 .u64 .s32 .s64 .b128
atom{.sem}{.scope}{.space}.cas{.hint}.type d, [a], b, c{, cache-policy}
atom{.space}{.sem}{.scope}.cas{.hint}.type d, [a], b, c{, cache-policy}
@ ptx 8.3 sm_90
atom{.sem}{.scope}{.space}.exch{.hint}.b128 d, [a], b{, cache-policy}
@ ptx 6.2 sm_70
.half = .f16 .f16x2 .bf16 .bf16x2
atom{.sem}{.scope}{.space}.add.noftz{.hint}.half d, [a], b{, cache-policy}
atom{.space}{.sem}{.scope}.add.noftz{.hint}.half d, [a], b{, cache-policy}
@ ptx 8.1 sm_90
.vec_32_bit = .v2 .v4
.vec_16_bit = .v2 .v4 .v8
atom{.sem}{.scope}{.global}.add{.hint}.vec_32_bit.f32 d, [a], b{, cache-policy}
.op = .add .min .max
.half_word_type = .f16 .bf16
atom{.sem}{.scope}{.global}.op.noftz{.hint}.vec_16_bit.half_word_type d, [a], b{, cache-policy}
.packed_type = .f16x2 .bf16x2
atom{.sem}{.scope}{.global}.op.noftz{.hint}.vec_32_bit.packed_type d, [a], b{, cache-policy}

# red  parallel-synchronization-and-communication-instructions-red
@ ptx 1.2 sm_11
.sem = .relaxed .release
.op = .and .or .xor .add .inc .dec .min .max
.type = .b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64
red{.sem}{.scope}{.space}.op{.hint}.type [a], b{, cache-policy}
red{.space}{.sem}{.scope}.op{.hint}.type [a], b{, cache-policy}
@ ptx 6.2 sm_70
.half = .f16 .f16x2 .bf16 .bf16x2
red{.sem}{.scope}{.space}.add.noftz{.hint}.half [a], b{, cache-policy}
red{.space}{.sem}{.scope}.add.noftz{.hint}.half [a], b{, cache-policy}
@ ptx 8.1 sm_90
.vec_32_bit = .v2 .v4
.vec_16_bit = .v2 .v4 .v8
red{.sem}{.scope}{.global}.add{.hint}.vec_32_bit.f32 [a], b{, cache-policy}
.op = .add .min .max
.half_word_type = .f16 .bf16
red{.sem}{.scope}{.global}.op.noftz{.hint}.vec_16_bit.half_word_type [a], b{, cache-policy}
.packed_type = .f16x2 .bf16x2
red{.sem}{.scope}{.global}.op.noftz{.hint}.vec_32_bit.packed_type [a], b{, cache-policy}

# red.async  parallel-synchronization-and-communication-instructions-red-async
@ ptx 8.1 sm_90
.mech = .mbarrier::complete_tx::bytes
.op = .inc .dec .min .max .and .or .xor .add
.type = .u32 .s32 .b32 .u64
red.async.relaxed.cluster{.shared::cluster}.mech.op.type [a], b, [mbar]
@ ptx 8.7 sm_100
.scope = .gpu .sys
.type = .u32 .s32 .u64 .s64
red.async{.mmio}.release.scope{.global}.add.type [a], b

# vote  parallel-synchronization-and-communication-instructions-vote
@ ptx 1.2 sm_12
.mode = .all .any .uni
vote.mode.pred d, {!}a
@ ptx 2.0 sm_20
vote.ballot.b32 d, {!}a

# vote.sync  parallel-synchronization-and-communication-instructions-vote-sync
@ ptx 6.0 sm_30
.mode = .all .any .uni
vote.sync.mode.pred d, {!}a, membermask
vote.sync.ballot.b32 d, {!}a, membermask

# vote.ballot.sync  parallel-synchronization-and-communication-instructions-vote-sync
vote.ballot.sync.b32 d, {!}a, membermask

# match.any.sync  parallel-synchronization-and-communication-instructions-match-sync
@ ptx 6.0 sm_70
.type = .b32 .b64
match.any.sync.type d, a, membermask

# match.all.sync  parallel-synchronization-and-communication-instructions-match-sync
.type = .b32 .b64
match.all.sync.type d{|p}, a, membermask

# match.sync  parallel-synchronization-and-communication-instructions-match-sync
.type = .b32 .b64
match.sync.any.type d, a, membermask
match.sync.all.type d{|p}, a, membermask

# activemask  parallel-synchronization-and-communication-instructions-activemask
@ ptx 6.2 sm_30
activemask.b32 d

# redux.sync  parallel-synchronization-and-communication-instructions-redux-sync
@ ptx 7.0 sm_80
.op = .add .min .max
.type = .u32 .s32
redux.sync.op.type d, a, membermask
.op = .and .or .xor
redux.sync.op.b32 d, a, membermask
@ ptx 8.6 sm_100a
.op = .min .max
redux.sync.op{.abs}{.NaN}.f32 d, a, membermask

# elect.sync  parallel-synchronization-and-communication-instructions-elect-sync
@ ptx 8.0 sm_90
elect.sync d|p, membermask

# mbarrier.init  parallel-synchronization-and-communication-instructions-mbarrier-init
@ ptx 7.0 sm_80
mbarrier.init{.state}.b64 [addr], count
@ ptx 9.3 sm_90
.layout = .layout::v0 .layout::v1
mbarrier.init.layout{.state}.b64 [addr], count

# mbarrier.check_layout  parallel-synchronization-and-communication-instructions-mbarrier-check-layout
.layout = .layout::v0 .layout::v1
mbarrier.check_layout.layout{.state}.b64 p, [addr]

# mbarrier.inval  parallel-synchronization-and-communication-instructions-mbarrier-inval
@ ptx 7.0 sm_80
mbarrier.inval{.state}.b64 [addr]

# mbarrier.expect_tx  parallel-synchronization-and-communication-instructions-mbarrier-expect-tx
@ ptx 8.0 sm_90
.scope = .cta .cluster
.space = .shared .shared::cta .shared::cluster
mbarrier.expect_tx{.relaxed}{.scope}{.space}.b64 [addr], txCount

# mbarrier.complete_tx  parallel-synchronization-and-communication-instructions-mbarrier-complete-tx
.scope = .cta .cluster
.space = .shared .shared::cta .shared::cluster
mbarrier.complete_tx{.relaxed}{.scope}{.space}.b64 [addr], txCount

# mbarrier.arrive  parallel-synchronization-and-communication-instructions-mbarrier-arrive
@ ptx 7.0 sm_80
.sem = .release .relaxed
.scope = .cta .cluster
.space = .shared .shared::cta .shared::cluster
mbarrier.arrive{.sem}{.scope}{.space}.b64 state, [addr]{, count}
@ ptx 8.0 sm_90
mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 state, [addr], txCount
@ ptx 7.0 sm_80
mbarrier.arrive.noComplete{.release}{.cta}{.state}.b64 state, [addr], count

# mbarrier.arrive_drop  parallel-synchronization-and-communication-instructions-mbarrier-arrive-drop
.sem = .release .relaxed
.scope = .cta .cluster
.space = .shared .shared::cta .shared::cluster
mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 state, [addr]{, count}
@ ptx 8.0 sm_90
mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64 state, [addr], txCount
mbarrier.arrive_drop.expect_tx{.space}{.sem}{.scope}.b64 state, [addr], txCount
@ ptx 7.0 sm_80
mbarrier.arrive_drop.noComplete{.release}{.cta}{.state}.b64 state, [addr], count

# mbarrier.test_wait  parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait
.sem = .acquire .relaxed
.scope = .cta .cluster
mbarrier.test_wait{.sem}{.scope}{.state}.b64 p, [addr], state
@ ptx 7.1 sm_80
mbarrier.test_wait.parity{.sem}{.scope}{.state}.b64 p, [addr], phaseParity

# mbarrier.try_wait  parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait
@ ptx 7.8 sm_90
.sem = .acquire .relaxed
.scope = .cta .cluster
mbarrier.try_wait{.sem}{.scope}{.state}.b64 p, [addr], state{, suspendTimeHint}
mbarrier.try_wait.parity{.sem}{.scope}{.state}.b64 p, [addr], phaseParity{, suspendTimeHint}

# mbarrier.pending_count  parallel-synchronization-and-communication-instructions-mbarrier-pending-count
@ ptx 7.0 sm_80
mbarrier.pending_count.b64 count, state

# clusterlaunchcontrol.try_cancel  parallel-synchronization-and-communication-instructions-clusterlaunchcontrol-try-cancel
@ ptx 8.6 sm_100
.mech = .mbarrier::complete_tx::bytes
clusterlaunchcontrol.try_cancel.async{.shared::cta}.mech{.multicast::cluster::all}.b128 [addr], [mbar]

# clusterlaunchcontrol.query_cancel  parallel-synchronization-and-communication-instructions-clusterlaunchcontrol-query-cancel
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d, response
.dimension = .get_first_ctaid::x .get_first_ctaid::y .get_first_ctaid::z
clusterlaunchcontrol.query_cancel.dimension.b32.b128 d, response
";
