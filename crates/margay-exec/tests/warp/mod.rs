// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warp-wide forms, comparisons, logic, atomics and vector accesses, for a card and for margay alike: a kernel for each
//! form, which 32 warps run with lanes left out, and a hash of all that a warp leaves behind.
//!
//! Inputs are edge values and random ones. What the manual leaves open is left out: what `shfl` reads from a lane that
//! takes no part, and what atomics on one address return.
#![allow(dead_code)]

pub mod forms;
mod further;
mod more;

/// Warps that run each form; each is a block.
pub const WARPS: usize = 32;
/// 64-bit words of input for a lane: `%a` to `%d`.
pub const INPUTS: usize = 4;
/// Bytes of memory of a warp: half for all lanes, half by lane.
pub const AREA: usize = 1024;

/// One form: its name, and what its lanes do. `full` forms need all lanes.
pub struct Form {
    pub name: String,
    pub body: String,
    pub full: bool,
    /// The memory is shared, and copied to and fro.
    pub shared: bool,
    pub kind: Kind,
}

/// What a form needs around it.
pub enum Kind {
    Plain,
    /// Blocks are clusters of two; the memory is the other block's shared memory, `%near` the own. With `bytes`,
    /// each lane that takes part tells the other block's mbarrier at `%far` of so many.
    Cluster {
        bytes: u32,
    },
    /// A second warp runs `other`; the memory is shared, and not copied.
    Warps {
        other: String,
    },
    /// A module of PTX 6.0 for sm_60.
    Old,
}

impl Form {
    /// Threads of a block.
    pub fn block(&self) -> u32 {
        if matches!(self.kind, Kind::Warps { .. }) { 64 } else { 32 }
    }

    /// Blocks of a cluster.
    pub fn cluster(&self) -> u32 {
        if matches!(self.kind, Kind::Cluster { .. }) { 2 } else { 1 }
    }
}

/// A variable and a function that some forms use.
pub const MODULE: &str = ".const .align 16 .b8 fixed[64] = {7, 255, 128, 1, 0, 2, 99, 200, 31, 64, 65, 250, 3, 33, 127, 129, 8, 18, 28, 38, \
    48, 58, 68, 78, 88, 98, 108, 118, 138, 148, 158, 168, 178, 188, 198, 208, 218, 228, 238, 248, 9, 19, 29, 39, 49, 59, 69, 79, \
    89, 109, 119, 139, 149, 159, 169, 179, 189, 209, 219, 229, 239, 249, 5, 6};\n\
    .func (.param .b64 back) turn(.param .b64 given) { .reg .b64 %d<2>; ld.param.b64 %d0, [given]; \
    mul.lo.u64 %d1, %d0, 0x100000001b3; st.param.b64 [back], %d1; ret; }\n";

/// Steele, Lea and Flood's SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn pick(&mut self, from: &[u64]) -> u64 {
        from[(self.next() % from.len() as u64) as usize]
    }
}

const F32: [u64; 14] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7fa0_0001,
];
const F64: [u64; 10] = [
    0,
    1 << 63,
    1,
    0x000f_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
];

fn words(seed: u64, count: usize) -> Vec<u64> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| match random.next() % 4 {
            0 => random.next(),
            1 => random.pick(&F32) | random.pick(&F32) << 32,
            2 => random.pick(&F64),
            // Small numbers of either sign, which meet each other.
            _ => (random.next() % 67).wrapping_sub(33),
        })
        .collect()
}

/// The input of all lanes, four words each.
pub fn inputs() -> Vec<u64> {
    words(0x6d61_7267_6179_0001, WARPS * 32 * INPUTS)
}

/// What the warps' memory holds before each form.
pub fn memory() -> Vec<u64> {
    words(0x6d61_7267_6179_0002, WARPS * AREA / 8)
}

/// The lanes of each warp that take part.
pub fn masks() -> Vec<u32> {
    let mut random = Random(0x6d61_7267_6179_0003);
    let known = [!0, 1, 0x8000_0000, 0x5555_5555, 0xffff_0000, 0x0000_ffff, 3, 0x8000_0001];
    let rest = std::iter::repeat_with(|| random.next() as u32 | 1 << (random.next() % 32));
    known.into_iter().chain(rest).take(WARPS).collect()
}

/// A module with the form's kernel `k` of four pointers: inputs, results, memory and masks.
pub fn module(form: &Form) -> String {
    let copies = form.shared || form.cluster() > 1;
    let (mut before, mut open, mut close) = (String::new(), String::new(), String::new());
    if copies {
        let copy = |to: &str, from: &str| {
            (0..4).fold(String::new(), |text, n| {
                let at = |line: &str| line.replace("8*#", &(8 * n).to_string());
                text + &format!("{}\n{}\n", at(from), at(to))
            })
        };
        before += ".shared .align 16 .b8 area[1024];\n";
        open += "mov.u64 %s, area; mul.wide.u32 %o, %lane, 32; add.u64 %g, %mem, %o; add.u64 %t, %s, %o;\n";
        open += &copy("st.shared.u64 [%t+8*#], %v;", "ld.global.u64 %v, [%g+8*#];");
        open += "bar.warp.sync 0xffffffff;\nmov.u64 %mem, %s;\n";
        close += "bar.warp.sync 0xffffffff;\n";
        close += &copy("st.global.u64 [%g+8*#], %v;", "ld.shared.u64 %v, [%t+8*#];");
    }
    let mut guard = String::new();
    if !form.full {
        guard +=
            "shr.u32 %u, %m, %lane; and.b32 %u, %u, 1; setp.eq.u32 %skip, %u, 0; @%skip bra out;\n";
    }
    let (mut limits, mut more, mut other) = ("", "", String::new());
    match &form.kind {
        Kind::Plain | Kind::Old => {}
        Kind::Cluster { bytes } => {
            let meet = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n";
            limits = ".reqnctapercluster 2, 1, 1\n";
            more = ".reg .pred %first, %take; .reg .b32 %peer; .reg .b64 %near, %far, %bar;\n";
            before += ".shared .align 8 .b64 bar;\n";
            open += "setp.eq.u32 %first, %lane, 0; mov.u64 %bar, bar;\n\
                     @%first mbarrier.init.shared::cta.b64 [%bar], 1;\n";
            open += meet;
            open += "mov.u32 %peer, %cluster_ctarank; xor.b32 %peer, %peer, 1; mov.u64 %near, %s;\n\
                     mapa.shared::cluster.u64 %mem, %s, %peer; mapa.shared::cluster.u64 %far, %bar, %peer;\n";
            if *bytes > 0 {
                open += &format!(
                    "shr.u32 %u, %m, %lane; and.b32 %u, %u, 1; setp.ne.u32 %take, %u, 0;\n\
                     @%take mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%far], {bytes};\n{meet}\
                     @%first mbarrier.arrive.shared::cta.b64 _, [%bar];\n"
                );
                close.insert_str(
                    0,
                    "await: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %take, [%bar], 0;\n\
                     @!%take bra await;\n",
                );
            }
            close.insert_str(0, "bar.warp.sync 0xffffffff;\n");
            let at = close.find("ld.shared").unwrap_or(0);
            close.insert_str(at, meet);
        }
        Kind::Warps { other: text } => {
            before += ".shared .align 16 .b8 area[1024];\n";
            open += "mov.u64 %mem, area;\n";
            guard += "mov.u32 %u, %tid.x; setp.ge.u32 %skip, %u, 32; @%skip bra other;\n";
            other = format!("other:\n{text}\nret;\n");
        }
    }
    if form.body.contains("fixed;") || form.body.contains("turn,") {
        before += MODULE;
    }
    let target = match form.kind {
        Kind::Old => ".version 6.0\n.target sm_60",
        Kind::Plain | Kind::Cluster { .. } | Kind::Warps { .. } => ".version 8.4\n.target sm_90",
    };
    format!(
        "{target}\n.address_size 64\n{before}\
         .visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pmem, .param .u64 pmask)\n{limits}{{\n\
         .reg .pred %skip, %pa, %pb, %pc, %p, %q; .reg .b16 %ha, %hb, %hc, %h<8>;\n\
         .reg .b32 %lane, %warp, %m, %u, %ra, %rb, %rc, %rd, %r<16>; .reg .f32 %fa, %fb, %fc, %f<8>;\n\
         .reg .f64 %ea, %eb, %ec, %e<4>; .reg .b64 %a, %b, %c, %d, %x, %y, %o, %in, %out, %mem, %own, %all;\n\
         .reg .b64 %s, %g, %t, %v, %w<8>;\n{more}\
         mov.u32 %lane, %tid.x; and.b32 %lane, %lane, 31; mov.u32 %warp, %ctaid.x;\n\
         ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %mem, [pmem]; ld.param.u64 %o, [pmask];\n\
         mul.wide.u32 %v, %warp, 4; add.u64 %o, %o, %v; ld.global.u32 %m, [%o];\n\
         mad.lo.u32 %u, %warp, 32, %lane; mul.wide.u32 %o, %u, 32; add.u64 %in, %in, %o;\n\
         mul.wide.u32 %o, %u, 16; add.u64 %out, %out, %o; mul.wide.u32 %o, %warp, {AREA}; add.u64 %mem, %mem, %o;\n\
         ld.global.u64 %a, [%in]; ld.global.u64 %b, [%in+8]; ld.global.u64 %c, [%in+16]; ld.global.u64 %d, [%in+24];\n\
         cvt.u32.u64 %ra, %a; cvt.u32.u64 %rb, %b; cvt.u32.u64 %rc, %c; cvt.u32.u64 %rd, %d;\n\
         cvt.u16.u64 %ha, %a; cvt.u16.u64 %hb, %b; cvt.u16.u64 %hc, %c;\n\
         mov.b32 %fa, %ra; mov.b32 %fb, %rb; mov.b32 %fc, %rc; mov.b64 %ea, %a; mov.b64 %eb, %b; mov.b64 %ec, %c;\n\
         and.b32 %u, %ra, 1; setp.ne.u32 %pa, %u, 0; and.b32 %u, %rb, 1; setp.ne.u32 %pb, %u, 0;\n\
         and.b32 %u, %rc, 1; setp.ne.u32 %pc, %u, 0;\n\
         mov.u64 %x, 0x5a5a5a5a5a5a5a5a; mov.u64 %y, 0xa5a5a5a5a5a5a5a5;\n{open}\
         mul.wide.u32 %o, %lane, 16; add.u64 %own, %mem, %o; add.u64 %own, %own, 512;\n\
         and.b32 %u, %rd, 3; mul.wide.u32 %o, %u, 16; add.u64 %all, %mem, %o;\n{guard}\
         {}\nout:\n{close}st.global.u64 [%out], %x; st.global.u64 [%out+8], %y;\nret;\n{other}}}\n",
        form.body
    )
}

/// What a warp left: its lanes' results, then its memory. FNV-1a, folded to 32 bits.
pub fn hash(results: &[u8], memory: &[u8]) -> u32 {
    let bytes = results.iter().chain(memory);
    let whole = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, &b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (whole ^ whole >> 32) as u32
}
