// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one bench case is: buffers, scalars and launches, the same for every runner.
//!
//! A runner sees buffers and scalars by index, so that a CUDA kernel, its OpenCL build and the OpenMP
//! twin take the same data in the same order. Indices are not checked here: a wrong one panics in
//! this development tool at its first run.

/// How a buffer is filled before each run.
#[derive(Clone, Copy, Debug)]
pub enum Init {
    Zero,
    /// `f32` in `low..high`, from a fixed generator.
    Reals(f32, f32),
    /// `u32` below the bound.
    Integers(u32),
    /// `i32` in `-bound..bound`.
    Signed(i32),
    Bytes,
    /// Bytes below the bound.
    Letters(u8),
    /// Start of each row of a sparse matrix: a row has 4 to 60 entries. Values: rows + 1.
    RowStarts,
    /// Diagonally dominant matrices of 4 x 4, element by element of all matrices.
    Dominant,
}

/// How a buffer is compared with the OpenMP twin's.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Not an output, or scratch.
    None,
    /// Equal bit for bit.
    Exact,
    /// `f32`s equal up to this relative error (of the larger magnitude, at least 1).
    Near(f32),
    /// The sums of all `f32`s agree to this relative error.
    Sum(f32),
    /// `u32`s differ in at most this share of places (borders of a fractal).
    Mostly(f32),
    /// Pieces of 256 with their lengths in the next buffer.
    Pieces,
}

#[derive(Clone, Debug)]
pub struct Buffer {
    /// Elements of four bytes; bytes for [`Init::Bytes`] and [`Init::Letters`].
    pub elements: usize,
    pub init: Init,
    pub check: Check,
}

#[derive(Clone, Copy, Debug)]
pub enum Argument {
    Buffer(usize),
    Scalar(usize),
    /// A scalar that differs from launch to launch.
    Word(u32),
}

#[derive(Clone, Debug)]
pub struct Launch {
    pub kernel: &'static str,
    pub grid: [u32; 2],
    pub block: [u32; 2],
    pub arguments: Vec<Argument>,
}

/// One row of the bench.
#[derive(Clone, Debug)]
pub struct Case {
    /// Of the source file `benches/kernels/<name>.cu` and of the OpenMP twin.
    pub name: &'static str,
    pub buffers: Vec<Buffer>,
    /// Bits of each scalar.
    pub scalars: Vec<u32>,
    pub launches: Vec<Launch>,
}

impl Buffer {
    pub fn bytes(&self) -> usize {
        match self.init {
            Init::Bytes | Init::Letters(_) => self.elements,
            Init::Zero
            | Init::Reals(..)
            | Init::Integers(_)
            | Init::Signed(_)
            | Init::RowStarts
            | Init::Dominant => self.elements * 4,
        }
    }

    /// The buffer's first contents.
    pub fn contents(&self, seed: u32) -> Vec<u8> {
        let mut state = 0x9e37_79b9 ^ seed.wrapping_mul(0x85eb_ca6b);
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let mut real =
            |low: f32, high: f32| low + (high - low) * (next() >> 8) as f32 / 16_777_216.0;
        let mut words: Vec<u32> = Vec::new();
        match self.init {
            Init::Zero => return vec![0; self.elements * 4],
            Init::Reals(low, high) => {
                words.extend((0..self.elements).map(|_| real(low, high).to_bits()));
            }
            Init::Integers(bound) => {
                words.extend((0..self.elements).map(|_| next_below(&mut real, bound)));
            }
            Init::Signed(bound) => words.extend(
                (0..self.elements)
                    .map(|_| (next_below(&mut real, 2 * bound as u32) as i32 - bound) as u32),
            ),
            Init::Bytes => {
                return (0..self.elements).map(|_| next_below(&mut real, 256) as u8).collect();
            }
            Init::Letters(bound) => {
                let bound = u32::from(bound);
                return (0..self.elements).map(|_| next_below(&mut real, bound) as u8).collect();
            }
            Init::RowStarts => {
                let mut at = 0;
                for _ in 0..self.elements {
                    words.push(at);
                    at += 4 + next_below(&mut real, 57);
                }
            }
            Init::Dominant => {
                let n = self.elements / 16;
                for element in 0..16 {
                    let diagonal = element % 5 == 0;
                    let value = |real: &mut dyn FnMut(f32, f32) -> f32| {
                        if diagonal { real(4.0, 5.0) } else { real(-1.0, 1.0) }
                    };
                    words.extend((0..n).map(|_| value(&mut real).to_bits()));
                }
            }
        }
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }
}

fn next_below(real: &mut dyn FnMut(f32, f32) -> f32, bound: u32) -> u32 {
    (real(0.0, 1.0) * bound as f32) as u32 % bound.max(1)
}

/// Says how `ours` differs from `theirs`, if it does. `next` is the buffer after it, as ours has it.
pub fn compare(
    check: Check,
    ours: &[u8],
    theirs: &[u8],
    next: Option<&[u8]>,
) -> Result<(), String> {
    let words = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().expect("four"))).collect()
    };
    let reals =
        |bytes: &[u8]| -> Vec<f32> { words(bytes).into_iter().map(f32::from_bits).collect() };
    match check {
        Check::None => Ok(()),
        Check::Exact => match ours.iter().zip(theirs).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(at) => Err(format!("byte {at} differs")),
        },
        Check::Near(bound) => {
            let differs = |(a, b): (&f32, &f32)| {
                let close = (a - b).abs() <= bound * a.abs().max(b.abs()).max(1.0);
                !close
            };
            let (a, b) = (reals(ours), reals(theirs));
            match a.iter().zip(&b).position(differs) {
                None => Ok(()),
                Some(at) => Err(format!("element {at}: {} and {}", a[at], b[at])),
            }
        }
        Check::Sum(bound) => {
            let sum = |bytes| reals(bytes).iter().map(|&v| f64::from(v)).sum::<f64>();
            let (a, b) = (sum(ours), sum(theirs));
            if (a - b).abs() <= f64::from(bound) * a.abs().max(b.abs()) {
                Ok(())
            } else {
                Err(format!("sums {a} and {b}"))
            }
        }
        Check::Mostly(share) => {
            let (a, b) = (words(ours), words(theirs));
            let different = a.iter().zip(&b).filter(|(a, b)| a != b).count();
            if different as f32 <= share * a.len() as f32 {
                Ok(())
            } else {
                Err(format!("{different} of {} elements differ", a.len()))
            }
        }
        Check::Pieces => {
            let lengths = words(next.ok_or("no lengths")?);
            let (a, b) = (words(ours), words(theirs));
            for (piece, &length) in lengths.iter().enumerate() {
                let range = piece * 256..piece * 256 + length as usize;
                if a.get(range.clone()) != b.get(range) {
                    return Err(format!("piece {piece} differs"));
                }
            }
            Ok(())
        }
    }
}
