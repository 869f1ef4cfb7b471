// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer, extended-precision, floating-point, half-precision and mixed-precision arithmetic,
//! comparison and selection, logic and shift (PTX ISA, sections 9.7.1 to 9.7.8).
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
.type = .u16 .u32 .u64 .s16 .s32 .s64
.rnd  = .rn .rz .rm .rp

# add  integer-arithmetic-instructions-add
@ ptx 1.0 sm_10
add.type d, a, b
add{.sat}.s32 d, a, b
@ ptx 8.0 sm_90
.x2 = .u16x2 .s16x2
add.x2 d, a, b
@ ptx 9.2 sm_120f
.x4 = .u8x4 .s8x4
add{.sat}.x4 d, a, b
.xsat = .u16x2 .s16x2 .u32
add.sat.xsat d, a, b
@ ptx 1.0 sm_10
add{.rnd}{.ftz}{.sat}.f32 d, a, b
add{.rnd}.f64 d, a, b
@ ptx 8.6 sm_100
add{.rnd}{.ftz}.f32x2 d, a, b
.rnd = .rn
@ ptx 4.2 sm_53
.half = .f16 .f16x2
add{.rnd}{.ftz}{.sat}.half d, a, b
@ ptx 7.8 sm_90
.bhalf = .bf16 .bf16x2
add{.rnd}.bhalf d, a, b
@ ptx 8.6 sm_100
.rnd = .rn .rz .rm .rp
.atype = .f16 .bf16
add{.rnd}{.sat}.f32.atype d, a, c

# sub  integer-arithmetic-instructions-sub
@ ptx 1.0 sm_10
sub.type d, a, b
sub{.sat}.s32 d, a, b
@ ptx 9.2 sm_120f
.x4 = .u8x4 .s8x4
sub{.sat}.x4 d, a, b
@ ptx 1.0 sm_10
sub{.rnd}{.ftz}{.sat}.f32 d, a, b
sub{.rnd}.f64 d, a, b
@ ptx 8.6 sm_100
sub{.rnd}{.ftz}.f32x2 d, a, b
@ ptx 4.2 sm_53
.rnd = .rn
.half = .f16 .f16x2
sub{.rnd}{.ftz}{.sat}.half d, a, b
@ ptx 7.8 sm_90
.bhalf = .bf16 .bf16x2
sub{.rnd}.bhalf d, a, b
@ ptx 8.6 sm_100
.rnd = .rn .rz .rm .rp
.atype = .f16 .bf16
sub{.rnd}{.sat}.f32.atype d, a, c

# mul  integer-arithmetic-instructions-mul
@ ptx 1.0 sm_10
.mode = .hi .lo .wide
mul.mode.type d, a, b
mul{.rnd}{.ftz}{.sat}.f32 d, a, b
mul{.rnd}.f64 d, a, b
@ ptx 8.6 sm_100
mul{.rnd}{.ftz}.f32x2 d, a, b
@ ptx 4.2 sm_53
.rnd = .rn
.half = .f16 .f16x2
mul{.rnd}{.ftz}{.sat}.half d, a, b
@ ptx 7.8 sm_90
.bhalf = .bf16 .bf16x2
mul{.rnd}.bhalf d, a, b

# mad  integer-arithmetic-instructions-mad
@ ptx 1.0 sm_10
.mode = .hi .lo .wide
mad.mode.type d, a, b, c
mad.hi.sat.s32 d, a, b, c
mad{.rnd}{.ftz}{.sat}.f32 d, a, b, c
mad{.rnd}.f64 d, a, b, c

# mul24  integer-arithmetic-instructions-mul24
.mode = .hi .lo
.type = .u32 .s32
mul24.mode.type d, a, b

# mad24  integer-arithmetic-instructions-mad24
.mode = .hi .lo
.type = .u32 .s32
mad24.mode.type d, a, b, c
mad24.hi.sat.s32 d, a, b, c

# sad  integer-arithmetic-instructions-sad
sad.type d, a, b, c

# div  integer-arithmetic-instructions-div
div.type d, a, b
div.approx{.ftz}.f32 d, a, b
div.full{.ftz}.f32 d, a, b
div{.rnd}{.ftz}.f32 d, a, b
div{.rnd}.f64 d, a, b

# rem  integer-arithmetic-instructions-rem
rem.type d, a, b

# abs  integer-arithmetic-instructions-abs
.type = .s16 .s32 .s64
abs.type d, a
abs{.ftz}.f32 d, a
abs.f64 d, a
@ ptx 6.5 sm_53
.half = .f16 .f16x2
abs{.ftz}.half d, a
@ ptx 7.0 sm_80
.bhalf = .bf16 .bf16x2
abs.bhalf d, a

# neg  integer-arithmetic-instructions-neg
@ ptx 1.0 sm_10
.type = .s16 .s32 .s64
neg.type d, a
neg{.ftz}.f32 d, a
neg.f64 d, a
@ ptx 6.0 sm_53
.half = .f16 .f16x2
neg{.ftz}.half d, a
@ ptx 9.2 sm_120f
neg.s8x4 d, a
@ ptx 7.0 sm_80
.bhalf = .bf16 .bf16x2
neg.bhalf d, a

# min  integer-arithmetic-instructions-min
@ ptx 1.0 sm_10
min.type d, a, b
@ ptx 8.0 sm_90
min.relu.s32 d, a, b
min.s32.relu d, a, b
min.u16x2 d, a, b
min{.relu}.s16x2 d, a, b
min.s16x2.relu d, a, b
@ ptx 9.2 sm_120f
min.u8x4 d, a, b
min{.relu}.s8x4 d, a, b
@ ptx 1.0 sm_10
min{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b
@ ptx 8.8 sm_100
min{.ftz}{.NaN}{.abs}.f32 d, a, b, c
@ ptx 1.0 sm_13
min.f64 d, a, b
@ ptx 7.0 sm_80
.half = .f16 .f16x2
min{.ftz}{.NaN}{.xorsign.abs}.half d, a, b
.bhalf = .bf16 .bf16x2
min{.NaN}{.xorsign.abs}.bhalf d, a, b

# max  integer-arithmetic-instructions-max
@ ptx 1.0 sm_10
max.type d, a, b
@ ptx 8.0 sm_90
max.relu.s32 d, a, b
max.s32.relu d, a, b
max.u16x2 d, a, b
max{.relu}.s16x2 d, a, b
max.s16x2.relu d, a, b
@ ptx 9.2 sm_120f
max.u8x4 d, a, b
max{.relu}.s8x4 d, a, b
@ ptx 1.0 sm_10
max{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b
@ ptx 8.8 sm_100
max{.ftz}{.NaN}{.abs}.f32 d, a, b, c
@ ptx 1.0 sm_13
max.f64 d, a, b
@ ptx 7.0 sm_80
.half = .f16 .f16x2
max{.ftz}{.NaN}{.xorsign.abs}.half d, a, b
.bhalf = .bf16 .bf16x2
max{.NaN}{.xorsign.abs}.bhalf d, a, b

# popc  integer-arithmetic-instructions-popc
@ ptx 2.0 sm_20
.type = .b32 .b64
popc.type d, a

# clz  integer-arithmetic-instructions-clz
.type = .b32 .b64
clz.type d, a

# bfind  integer-arithmetic-instructions-bfind
.type = .u32 .u64 .s32 .s64
bfind{.shiftamt}.type d, a

# fns  integer-arithmetic-instructions-fns
@ ptx 6.0 sm_30
fns.b32 d, mask, base, offset

# brev  integer-arithmetic-instructions-brev
@ ptx 2.0 sm_20
.type = .b32 .b64
brev.type d, a

# bfe  integer-arithmetic-instructions-bfe
.type = .u32 .u64 .s32 .s64
bfe.type d, a, b, c

# bfi  integer-arithmetic-instructions-bfi
.type = .b32 .b64
bfi.type f, a, b, c, d

# szext  integer-arithmetic-instructions-szext
@ ptx 7.6 sm_70
.mode = .clamp .wrap
.type = .u32 .s32
szext.mode.type d, a, b

# bmsk  integer-arithmetic-instructions-bmsk
.mode = .clamp .wrap
bmsk.mode.b32 d, a, b

# dp4a  integer-arithmetic-instructions-dp4a
@ ptx 5.0 sm_61
.atype .btype = .u32 .s32
dp4a.atype.btype d, a, b, c

# dp2a  integer-arithmetic-instructions-dp2a
.mode = .lo .hi
.atype .btype = .u32 .s32
dp2a.mode.atype.btype d, a, b, c

# clmad  integer-arithmetic-instructions-clmad
@ ptx 9.3 sm_100
.mode = .lo .hi
clmad.mode.u64 d, a, b, c

# add.cc  extended-precision-arithmetic-instructions-add-cc
@ ptx 1.2 sm_10
.type = .u32 .s32 .u64 .s64
add.cc.type d, a, b

# addc  extended-precision-arithmetic-instructions-addc
.type = .u32 .s32 .u64 .s64
addc{.cc}.type d, a, b

# sub.cc  extended-precision-arithmetic-instructions-sub-cc
.type = .u32 .s32 .u64 .s64
sub.cc.type d, a, b

# subc  extended-precision-arithmetic-instructions-subc
.type = .u32 .s32 .u64 .s64
subc{.cc}.type d, a, b

# mad  extended-precision-arithmetic-instructions-mad-cc
@ ptx 3.0 sm_20
.mode = .hi .lo
.type = .u32 .s32 .u64 .s64
mad.mode.cc.type d, a, b, c

# madc  extended-precision-arithmetic-instructions-madc
.mode = .hi .lo
.type = .u32 .s32 .u64 .s64
madc.mode{.cc}.type d, a, b, c

# testp  floating-point-instructions-testp
@ ptx 2.0 sm_20
.op = .finite .infinite .number .notanumber .normal .subnormal
.type = .f32 .f64
testp.op.type p, a

# copysign  floating-point-instructions-copysign
.type = .f32 .f64
copysign.type d, a, b

# fma  floating-point-instructions-fma
@ ptx 1.4 sm_13
fma.rnd{.ftz}{.sat}.f32 d, a, b, c
fma.rnd.f64 d, a, b, c
@ ptx 8.6 sm_100
fma.rnd{.ftz}.f32x2 d, a, b, c
.abtype = .f16 .bf16
fma.rnd{.sat}.f32.abtype d, a, b, c
@ ptx 4.2 sm_53
.rnd = .rn
.half = .f16 .f16x2
fma.rnd{.ftz}{.sat}.half d, a, b, c
@ ptx 7.0 sm_80
fma.rnd{.ftz}.relu.half d, a, b, c
.bhalf = .bf16 .bf16x2
fma.rnd{.relu}.bhalf d, a, b, c
@ ptx 8.1 sm_90
.type = .f16 .f16x2 .bf16 .bf16x2
fma.rnd.oob{.relu}.type d, a, b, c

# rcp  floating-point-instructions-rcp
@ ptx 1.0 sm_10
rcp.approx{.ftz}.f32 d, a
rcp{.rnd}{.ftz}.f32 d, a
rcp{.rnd}.f64 d, a
@ ptx 2.1 sm_20
rcp.approx.ftz.f64 d, a

# sqrt  floating-point-instructions-sqrt
@ ptx 1.0 sm_10
sqrt.approx{.ftz}.f32 d, a
sqrt{.rnd}{.ftz}.f32 d, a
sqrt{.rnd}.f64 d, a

# rsqrt  floating-point-instructions-rsqrt
rsqrt{.approx}{.ftz}.f32 d, a
rsqrt{.approx}.f64 d, a
@ ptx 4.0 sm_20
rsqrt.approx.ftz.f64 d, a

# sin  floating-point-instructions-sin
@ ptx 1.0 sm_10
sin{.approx}{.ftz}.f32 d, a

# cos  floating-point-instructions-cos
cos{.approx}{.ftz}.f32 d, a

# lg2  floating-point-instructions-lg2
lg2{.approx}{.ftz}.f32 d, a

# ex2  floating-point-instructions-ex2
ex2{.approx}{.ftz}.f32 d, a
@ ptx 7.0 sm_75
.half = .f16 .f16x2
ex2.approx.half d, a
@ ptx 7.8 sm_90
.bhalf = .bf16 .bf16x2
ex2.approx.ftz.bhalf d, a

# tanh  floating-point-instructions-tanh
@ ptx 7.0 sm_75
.type = .f16 .f32 .f16x2 .bf16 .bf16x2
tanh.approx.type d, a

# set  comparison-and-selection-instructions-set
@ ptx 1.0 sm_10
.CmpOp  = .eq .ne .lt .le .gt .ge .lo .ls .hi .hs .equ .neu .ltu .leu .gtu .geu .num .nan
.BoolOp = .and .or .xor
.dtype  = .u32 .s32 .f32
.stype  = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64
set.CmpOp{.ftz}.dtype.stype d, a, b
set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c
@ ptx 4.2 sm_53
.stype = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f16 .f32 .f64
set.CmpOp{.ftz}.f16.stype d, a, b
set.CmpOp.BoolOp{.ftz}.f16.stype d, a, b, {!}c
.dtype = .u16 .s16 .u32 .s32
set.CmpOp{.ftz}.dtype.f16 d, a, b
set.CmpOp.BoolOp{.ftz}.dtype.f16 d, a, b, {!}c
.dtype = .f16x2 .u32 .s32
set.CmpOp{.ftz}.dtype.f16x2 d, a, b
set.CmpOp.BoolOp{.ftz}.dtype.f16x2 d, a, b, {!}c
@ ptx 7.8 sm_90
.stype = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f16 .bf16 .f32 .f64
set.CmpOp.bf16.stype d, a, b
set.CmpOp.BoolOp.bf16.stype d, a, b, {!}c
.dtype = .u16 .s16 .u32 .s32
set.CmpOp.dtype.bf16 d, a, b
set.CmpOp.BoolOp.dtype.bf16 d, a, b, {!}c
.dtype = .bf16x2 .u32 .s32
set.CmpOp.dtype.bf16x2 d, a, b
set.CmpOp.BoolOp.dtype.bf16x2 d, a, b, {!}c

# setp  comparison-and-selection-instructions-setp
@ ptx 1.0 sm_10
.CmpOp  = .eq .ne .lt .le .gt .ge .lo .ls .hi .hs .equ .neu .ltu .leu .gtu .geu .num .nan
.BoolOp = .and .or .xor
.type   = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64
setp.CmpOp{.ftz}.type p{|q}, a, b
setp.CmpOp.BoolOp{.ftz}.type p{|q}, a, b, {!}c
@ ptx 4.2 sm_53
.half = .f16 .f16x2
setp.CmpOp{.ftz}.half p{|q}, a, b
setp.CmpOp.BoolOp{.ftz}.half p{|q}, a, b, {!}c
@ ptx 7.8 sm_90
.bhalf = .bf16 .bf16x2
setp.CmpOp.bhalf p{|q}, a, b
setp.CmpOp.BoolOp.bhalf p{|q}, a, b, {!}c

# selp  comparison-and-selection-instructions-selp
@ ptx 1.0 sm_10
.type = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64
selp.type d, a, b, {!}c

# slct  comparison-and-selection-instructions-slct
.dtype = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64
slct.dtype.s32 d, a, b, c
slct{.ftz}.dtype.f32 d, a, b, c

# and  logic-and-shift-instructions-and
.type = .b16 .b32 .b64
and.type d, a, b
and.pred d, {!}a, {!}b

# or  logic-and-shift-instructions-or
.type = .b16 .b32 .b64
or.type d, a, b
or.pred d, {!}a, {!}b

# xor  logic-and-shift-instructions-xor
.type = .b16 .b32 .b64
xor.type d, a, b
xor.pred d, {!}a, {!}b

# not  logic-and-shift-instructions-not
.type = .b16 .b32 .b64
not.type d, a
not.pred d, {!}a

# cnot  logic-and-shift-instructions-cnot
.type = .b16 .b32 .b64
cnot.type d, a

# lop3  logic-and-shift-instructions-lop3
@ ptx 4.3 sm_50
lop3.b32 d, a, b, c, immLut
@ ptx 8.2 sm_70
.BoolOp = .or .and
lop3.BoolOp.b32 d|p, a, b, c, immLut, {!}q

# shf  logic-and-shift-instructions-shf
@ ptx 3.1 sm_32
.dir = .l .r
.mode = .clamp .wrap
shf.dir.mode.b32 d, a, b, c

# shl  logic-and-shift-instructions-shl
@ ptx 1.0 sm_10
.type = .b16 .b32 .b64
shl.type d, a, b

# shr  logic-and-shift-instructions-shr
.type = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64
shr.type d, a, b
";
