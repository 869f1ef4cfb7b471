// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar and SIMD video instructions (PTX ISA, "Video Instructions"). Selectors are members of
//! the operands: `a.b0`, `a.h10`, `d.b3210`.
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
.dtype .atype .btype = .u32 .s32
.op2 = .add .min .max
.cmp = .eq .ne .lt .le .gt .ge
.mode = .clamp .wrap
@ ptx 2.0 sm_20

# vadd  scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax
vadd.dtype.atype.btype{.sat} d{.dsel}, a{.asel}, b{.bsel}{, c}
vadd.dtype.atype.btype{.sat}.op2 d, a{.asel}, b{.bsel}, c

# vsub  scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax
vsub.dtype.atype.btype{.sat} d{.dsel}, a{.asel}, b{.bsel}{, c}
vsub.dtype.atype.btype{.sat}.op2 d, a{.asel}, b{.bsel}, c

# vabsdiff  scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax
vabsdiff.dtype.atype.btype{.sat} d{.dsel}, a{.asel}, b{.bsel}{, c}
vabsdiff.dtype.atype.btype{.sat}.op2 d, a{.asel}, b{.bsel}, c

# vmin  scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax
vmin.dtype.atype.btype{.sat} d{.dsel}, a{.asel}, b{.bsel}{, c}
vmin.dtype.atype.btype{.sat}.op2 d, a{.asel}, b{.bsel}, c

# vmax  scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax
vmax.dtype.atype.btype{.sat} d{.dsel}, a{.asel}, b{.bsel}{, c}
vmax.dtype.atype.btype{.sat}.op2 d, a{.asel}, b{.bsel}, c

# vshl  scalar-video-instructions-vshl-vshr
vshl.dtype.atype.u32{.sat}.mode d{.dsel}, a{.asel}, b{.bsel}{, c}
vshl.dtype.atype.u32{.sat}.mode.op2 d, a{.asel}, b{.bsel}, c

# vshr  scalar-video-instructions-vshl-vshr
vshr.dtype.atype.u32{.sat}.mode d{.dsel}, a{.asel}, b{.bsel}{, c}
vshr.dtype.atype.u32{.sat}.mode.op2 d, a{.asel}, b{.bsel}, c

# vmad  scalar-video-instructions-vmad
.scale = .shr7 .shr15
vmad.dtype.atype.btype{.po}{.sat}{.scale} d, {-}a{.asel}, {-}b{.bsel}, {-}c

# vset  scalar-video-instructions-vset
vset.atype.btype.cmp d{.dsel}, a{.asel}, b{.bsel}{, c}
vset.atype.btype.cmp.op2 d, a{.asel}, b{.bsel}, c

# vadd2  simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2
@ ptx 3.0 sm_30
vadd2.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vadd2.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vsub2  simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2
vsub2.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vsub2.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vavrg2  simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2
vavrg2.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vavrg2.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vabsdiff2  simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2
vabsdiff2.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vabsdiff2.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vmin2  simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2
vmin2.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vmin2.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vmax2  simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2
vmax2.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vmax2.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vset2  simd-video-instructions-vset2
vset2.atype.btype.cmp{.add} d{.mask}, a{.asel}, b{.bsel}, c

# vadd4  simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4
vadd4.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vadd4.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vsub4  simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4
vsub4.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vsub4.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vavrg4  simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4
vavrg4.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vavrg4.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vabsdiff4  simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4
vabsdiff4.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vabsdiff4.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vmin4  simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4
vmin4.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vmin4.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vmax4  simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4
vmax4.dtype.atype.btype{.sat} d{.mask}, a{.asel}, b{.bsel}, c
vmax4.dtype.atype.btype.add d{.mask}, a{.asel}, b{.bsel}, c

# vset4  simd-video-instructions-vset4
vset4.atype.btype.cmp{.add} d{.mask}, a{.asel}, b{.bsel}, c
";
