// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texel formats: bytes to four 32-bit components, and back.

/// What one channel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelKind {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
    /// 5, 6, 5 bits in 16, red in the high ones; always normalized.
    Packed565,
    /// 5, 5, 5 bits in 16, the top one unused; always normalized.
    Packed555,
    /// 10, 10, 10 bits in 32, the top two unused; always normalized.
    Packed101010,
}

impl ChannelKind {
    /// Bytes of a channel; of a whole texel for packed kinds.
    pub const fn bytes(self) -> u32 {
        match self {
            ChannelKind::U8 | ChannelKind::S8 => 1,
            ChannelKind::U16 | ChannelKind::S16 | ChannelKind::F16 => 2,
            ChannelKind::U32 | ChannelKind::S32 | ChannelKind::F32 => 4,
            ChannelKind::Packed565 | ChannelKind::Packed555 => 2,
            ChannelKind::Packed101010 => 4,
        }
    }

    /// Whether all channels share one word.
    pub const fn is_packed(self) -> bool {
        match self {
            ChannelKind::Packed565 | ChannelKind::Packed555 | ChannelKind::Packed101010 => true,
            ChannelKind::U8
            | ChannelKind::U16
            | ChannelKind::U32
            | ChannelKind::S8
            | ChannelKind::S16
            | ChannelKind::S32
            | ChannelKind::F16
            | ChannelKind::F32 => false,
        }
    }

    /// Whether it reads as a float without being normalized.
    pub const fn is_float(self) -> bool {
        matches!(self, ChannelKind::F16 | ChannelKind::F32) || self.is_packed()
    }

    /// Whether integers of this kind have a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, ChannelKind::S8 | ChannelKind::S16 | ChannelKind::S32)
    }
}

/// Which component each stored channel is: OpenCL's channel orders. CUDA's formats are `R`, `Rg`
/// and `Rgba`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    R,
    Rg,
    Rgb,
    #[default]
    Rgba,
    A,
    Ra,
    Bgra,
    Argb,
    Abgr,
    /// One channel, read into all four components.
    Intensity,
    /// One channel, read into red, green and blue; alpha is 1.
    Luminance,
}

impl Order {
    /// The component (0 red to 3 alpha) of each stored channel.
    pub const fn channels(self) -> &'static [u8] {
        match self {
            Order::R | Order::Intensity | Order::Luminance => &[0],
            Order::Rg => &[0, 1],
            Order::Rgb => &[0, 1, 2],
            Order::Rgba => &[0, 1, 2, 3],
            Order::A => &[3],
            Order::Ra => &[0, 3],
            Order::Bgra => &[2, 1, 0, 3],
            Order::Argb => &[3, 0, 1, 2],
            Order::Abgr => &[3, 2, 1, 0],
        }
    }
}

/// A texel's layout in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    pub kind: ChannelKind,
    pub order: Order,
    /// Red, green and blue are sRGB-coded (8-bit, normalized reads only).
    pub srgb: bool,
}

/// Red, green, blue, alpha: floats or integers, as bits.
pub type Texel = [u32; 4];

impl Format {
    /// CUDA's formats: 1, 2 or 4 channels of a kind.
    pub const fn new(kind: ChannelKind, channels: u32) -> Option<Format> {
        let order = match channels {
            1 => Order::R,
            2 => Order::Rg,
            4 => Order::Rgba,
            _ => return None,
        };
        Some(Format { kind, order, srgb: false })
    }

    /// Channels stored.
    pub const fn channels(self) -> u32 {
        self.order.channels().len() as u32
    }

    /// Bytes of a texel.
    pub const fn bytes(self) -> u32 {
        match self.kind.is_packed() {
            true => self.kind.bytes(),
            false => self.kind.bytes() * self.channels(),
        }
    }

    /// Whether reads give floats, if integers are or are not `normalized`.
    pub const fn reads_float(self, normalized: bool) -> bool {
        let narrow = self.kind.bytes() < 4;
        self.kind.is_float() || (normalized && narrow)
    }

    /// Reads a texel. Components that are not stored are 0, alpha 1.
    ///
    /// # Safety
    /// `at` leads to a texel of this format.
    pub unsafe fn read(self, at: *const u8, normalized: bool) -> Texel {
        let float = self.reads_float(normalized);
        let one = if float { 1f32.to_bits() } else { 1 };
        let mut texel = [0, 0, 0, one];
        // SAFETY: as the caller says; reads need no alignment.
        unsafe {
            match self.kind {
                ChannelKind::Packed565 => {
                    let v = at.cast::<u16>().read_unaligned();
                    texel[0] = unorm(u32::from(v >> 11), 5);
                    texel[1] = unorm(u32::from(v >> 5 & 63), 6);
                    texel[2] = unorm(u32::from(v & 31), 5);
                    return texel;
                }
                ChannelKind::Packed555 => {
                    let v = at.cast::<u16>().read_unaligned();
                    for (c, shift) in [10, 5, 0].into_iter().enumerate() {
                        texel[c] = unorm(u32::from(v >> shift & 31), 5);
                    }
                    return texel;
                }
                ChannelKind::Packed101010 => {
                    let v = at.cast::<u32>().read_unaligned();
                    for (c, shift) in [20, 10, 0].into_iter().enumerate() {
                        texel[c] = unorm(v >> shift & 1023, 10);
                    }
                    return texel;
                }
                _ => {}
            }
            let bytes = self.kind.bytes() as usize;
            for (n, &component) in self.order.channels().iter().enumerate() {
                let mut v = channel(self.kind, at.add(n * bytes), float);
                if self.srgb && component != 3 {
                    v = linear_of_srgb(f32::from_bits(v)).to_bits();
                }
                texel[usize::from(component)] = v;
            }
        }
        match self.order {
            Order::Intensity => [texel[0]; 4],
            Order::Luminance => [texel[0], texel[0], texel[0], one],
            _ => texel,
        }
    }

    /// Writes a texel. With `float` the components are floats, else integers of the kind's
    /// signedness; integers saturate (PTX ISA, "sust").
    ///
    /// # Safety
    /// `at` leads to a texel of this format that may be written.
    pub unsafe fn write(self, at: *mut u8, texel: Texel, float: bool) {
        let f = |c: usize| f32::from_bits(texel[c]);
        // SAFETY: as the caller says; writes need no alignment.
        unsafe {
            match self.kind {
                ChannelKind::Packed565 => {
                    let v = to_unorm(f(0), 5) << 11 | to_unorm(f(1), 6) << 5 | to_unorm(f(2), 5);
                    return at.cast::<u16>().write_unaligned(v as u16);
                }
                ChannelKind::Packed555 => {
                    let v = to_unorm(f(0), 5) << 10 | to_unorm(f(1), 5) << 5 | to_unorm(f(2), 5);
                    return at.cast::<u16>().write_unaligned(v as u16);
                }
                ChannelKind::Packed101010 => {
                    let v = to_unorm(f(0), 10) << 20 | to_unorm(f(1), 10) << 10;
                    return at.cast::<u32>().write_unaligned(v | to_unorm(f(2), 10));
                }
                _ => {}
            }
            let bytes = self.kind.bytes() as usize;
            for (n, &component) in self.order.channels().iter().enumerate() {
                let mut v = texel[usize::from(component)];
                if self.srgb && component != 3 && float {
                    v = srgb_of_linear(f32::from_bits(v)).to_bits();
                }
                put_channel(self.kind, at.add(n * bytes), v, float);
            }
        }
    }
}

/// An unsigned normalized integer of `bits` bits, as the bits of a float in [0, 1].
fn unorm(v: u32, bits: u32) -> u32 {
    (v as f32 / ((1u32 << bits) - 1) as f32).to_bits()
}

fn to_unorm(v: f32, bits: u32) -> u32 {
    let most = ((1u32 << bits) - 1) as f32;
    // A NaN becomes 0.
    (v.clamp(0.0, 1.0) * most).round_ties_even() as u32
}

/// Reads a channel: as a float if `float`, else as an integer extended to 32 bits.
unsafe fn channel(kind: ChannelKind, at: *const u8, float: bool) -> u32 {
    // SAFETY: the caller's pointer leads to a channel.
    unsafe {
        match (kind, float) {
            (ChannelKind::U8, true) => unorm(u32::from(at.read()), 8),
            (ChannelKind::U8, false) => u32::from(at.read()),
            (ChannelKind::S8, true) => {
                (f32::from(at.cast::<i8>().read()) / 127.0).max(-1.0).to_bits()
            }
            (ChannelKind::S8, false) => at.cast::<i8>().read() as i32 as u32,
            (ChannelKind::U16, true) => unorm(u32::from(at.cast::<u16>().read_unaligned()), 16),
            (ChannelKind::U16, false) => u32::from(at.cast::<u16>().read_unaligned()),
            (ChannelKind::S16, true) => {
                (f32::from(at.cast::<i16>().read_unaligned()) / 32767.0).max(-1.0).to_bits()
            }
            (ChannelKind::S16, false) => at.cast::<i16>().read_unaligned() as i32 as u32,
            (ChannelKind::F16, _) => {
                half::f16::from_bits(at.cast::<u16>().read_unaligned()).to_f32().to_bits()
            }
            (ChannelKind::U32 | ChannelKind::S32 | ChannelKind::F32, _) => {
                at.cast::<u32>().read_unaligned()
            }
            (ChannelKind::Packed565 | ChannelKind::Packed555 | ChannelKind::Packed101010, _) => 0,
        }
    }
}

unsafe fn put_channel(kind: ChannelKind, at: *mut u8, v: u32, float: bool) {
    let f = f32::from_bits(v);
    let snorm = |most: f32| (f.clamp(-1.0, 1.0) * most).round_ties_even() as i32;
    // SAFETY: the caller's pointer leads to a channel.
    unsafe {
        match (kind, float) {
            (ChannelKind::U8, true) => at.write(to_unorm(f, 8) as u8),
            (ChannelKind::U8, false) => at.write(v.min(0xff) as u8),
            (ChannelKind::S8, true) => at.cast::<i8>().write(snorm(127.0) as i8),
            (ChannelKind::S8, false) => at.cast::<i8>().write((v as i32).clamp(-128, 127) as i8),
            (ChannelKind::U16, true) => at.cast::<u16>().write_unaligned(to_unorm(f, 16) as u16),
            (ChannelKind::U16, false) => at.cast::<u16>().write_unaligned(v.min(0xffff) as u16),
            (ChannelKind::S16, true) => at.cast::<i16>().write_unaligned(snorm(32767.0) as i16),
            (ChannelKind::S16, false) => {
                at.cast::<i16>().write_unaligned((v as i32).clamp(-32768, 32767) as i16);
            }
            (ChannelKind::F16, _) => {
                at.cast::<u16>().write_unaligned(half::f16::from_f32(f).to_bits());
            }
            (ChannelKind::U32 | ChannelKind::S32 | ChannelKind::F32, _) => {
                at.cast::<u32>().write_unaligned(v);
            }
            (ChannelKind::Packed565 | ChannelKind::Packed555 | ChannelKind::Packed101010, _) => {}
        }
    }
}

/// The sRGB curve and its inverse (IEC 61966-2-1).
fn linear_of_srgb(v: f32) -> f32 {
    if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

fn srgb_of_linear(v: f32) -> f32 {
    let v = v.clamp(0.0, 1.0);
    if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
}
