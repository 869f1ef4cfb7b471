// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a function from which its registers are estimated.

use super::live::Live;
use super::machine::Machine;
use crate::module::Function;

macro_rules! features {
    ($($name:ident $doc:literal)*) => {
        /// Figures of one function. The names are those of the training table's columns.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Features { $( #[doc = $doc] pub $name: u32, )* }

        impl Features {
            /// Names in order.
            pub const NAMES: &'static [&'static str] = &[ $( stringify!($name), )* ];
            /// Figures from their values in the order of the names.
            pub fn from_values(values: &[u32]) -> Option<Features> {
                let mut values = values.iter().copied();
                let features = Features { $( $name: values.next()?, )* };
                values.next().is_none().then_some(features)
            }
            /// Values in the order of the names.
            pub fn values(&self) -> Vec<u32> { vec![ $( self.$name, )* ] }
        }
    };
}

features! {
    plain "Greatest pressure as PTX has it, apart from copies."
    folded "The same with constants free and narrow addresses."
    varying "The same with uniform values free."
    early_long "The same with loads as early as dependences let them."
    early_short "The same with loads somewhat early."
    lean "The same in an order with little alive."
    loop_varying "Greatest pressure inside of loops."
    loop_early_long "The same with loads as early as they can be."
    loop_early_short "The same with loads somewhat early."
    loop_lean "The same in an order with little alive."
    inner_varying "Greatest pressure in blocks of the deepest nesting."
    inner_early_short "The same with loads somewhat early."
    around "Most alive at the head of a loop, uniform values apart."
    around_folded "Most alive at the head of a loop."
    twice_short "Greatest pressure of a loop of one block repeated twice, loads somewhat early."
    four_short "The same for four times."
    four_long "The same for four times, loads as early as they can be."
    four_lean "The same for four times in an order with little alive."
    borders "Most alive at the end of a block, uniform values apart."
    predicates "Most predicates alive at once."
    kept "Words of constants and parameters that instructions read."
    uniform "Words of uniform values that are computed."
    instructions "Nodes of the machine's view."
    blocks "Blocks."
    loops "Natural loops."
    depth "Deepest nesting of loops."
    self_loops "Loops of one block."
    self_loop "Nodes of the smallest loop of one block."
    self_loop_loads "Loads in the loop of one block that has most."
    inner "Nodes of the largest innermost loop."
    inner_blocks "Blocks of it."
    largest "Nodes of the largest block."
    loads "Loads from global memory."
    loads_shared "Loads from shared memory."
    loads_local "Loads from local memory."
    loads_constant "Loads from constant memory and parameters by a variable address."
    stores "Stores to global memory."
    stores_shared "Stores to shared memory."
    stores_local "Stores to local memory."
    block_loads "Words loaded in the block that loads most."
    block_loads_global "Words loaded from global memory in the block that loads most of it."
    block_stores "Stores in the block that has most."
    widest "Words of the widest access."
    wide_loads "Loads of more than one element."
    fences "Barriers, atomics, calls and warp functions."
    barriers "Block barriers."
    atomics "Atomic operations."
    shuffles "Shuffles and votes."
    textures "Texture operations."
    calls "Calls of functions, traps into the system included."
    divisions_f32 "Precise divisions, 32 bits."
    divisions_f64 "Divisions, 64 bits floating."
    roots_f32 "Precise square roots and reciprocals, 32 bits."
    roots_f64 "The same, 64 bits."
    divisions_i32 "Integer divisions and remainders, 32 bits, by no constant."
    divisions_i64 "The same, 64 bits."
    divisions_constant "Integer divisions by a constant."
    trigonometric_f32 "Sines, cosines and tangents."
    trigonometric_f64 "The same of doubles."
    powers_f32 "Powers and others of many steps."
    powers_f64 "The same of doubles."
    exponentials_f32 "Exponentials and logarithms."
    exponentials_f64 "The same of doubles."
    routines_f32 "Other routines."
    routines_f64 "The same of doubles."
    f64 "Arithmetic on doubles."
    f32 "Arithmetic on floats."
    f16 "Arithmetic on halves."
    i64 "Arithmetic on 64-bit integers, narrow addresses apart."
    products "Integer products."
    logic "Bit operations and shifts."
    conversions "Conversions."
    selects "Selections, minima and maxima."
    comparisons "Comparisons."
    constants_f "Different floating-point constants."
    constants_f64 "Different constants of doubles."
    addresses "Different address values of global memory."
    bases "Different parameters that are 64 bits wide."
    parameters "Bytes of parameters."
    coordinates "Dimensions of the thread's and the block's place that are read."
    frame "Bytes of the local frame, in words, at most 1024."
    threads "Threads of a block, where it is declared."
    guarded "Guarded instructions."
    live_loads "Words loaded from global memory whose first use is in another block."
    chain "Longest chain of results in a block."
    carried "Words that go round the loop of one block."
    defined "Words of varying values that are written."
    defined_most "The same in the block that writes most."
    defined_pairs "Pairs that are written."
    pairs "Most pairs alive at once."
    pairs_short "The same with loads somewhat early."
    flight "Most words from global memory alive at once."
    flight_short "The same with loads somewhat early."
    flight_long "The same with loads as early as they can be."
    early_brief "Greatest pressure with loads a little early."
    early_middle "The same between the long and the short latency."
    counted "Greatest pressure with uniform counters of loops free."
    counted_short "The same with loads somewhat early."
    again "Greatest pressure with what is cheap to compute again free."
    again_short "The same with loads somewhat early."
    again_around "Most alive at the head of a loop, counted so."
    at_fences "Most alive at a fence."
    loop_defined "Words written in loops."
    loop_loads "Words loaded from memory in loops."
    inner_loads "Words loaded from memory in the largest innermost loop."
    trips "Most rounds of an innermost loop that has a constant number of them."
    trips_size "Its nodes."
    trips_short "Greatest pressure with all rounds in a row, at most 512 nodes, loads somewhat early."
    counted_loops "Innermost loops whose rounds are known when they are entered."
    counted_size "Nodes of the largest."
    counted_loads "Loads of the one that has most."
    counted_blocks "Blocks of the one that has most, if more than one."
    counted_fenced "How many of them have fences."
    counted_four_short "Greatest pressure of one block repeated four times, loads somewhat early."
    counted_four_long "The same with loads as early as they can be."
    step_least "The least step of their counters."
    step_most "The greatest step."
    while_loops "Innermost loops that are not counted."
    while_size "Nodes of the largest."
    while_loads "Loads of the one that has most."
    called "Calls of functions."
    small_blocks "Blocks of at most 6 nodes inside the function."
    average "Average pressure times 8, by nodes."
    second "Greatest pressure of another block than the one that has most, loads somewhat early."
    offsets "Accesses with an offset."
    fed "Greatest pressure with what instructions have to be fed with."
    feeds "How many values they are fed with."
    fed_short "Greatest pressure so, loads somewhat early."
    fed_brief "The same with loads a little early."
    fed_middle "The same between the long and the short latency."
    fed_lean "The same in an order with little alive."
    loop_fed_short "The same in loops, loads somewhat early."
    loop_fed_lean "The same in loops in an order with little alive."
    straight_fed_short "The same outside of loops, loads somewhat early."
    unroll_loops "Counted loops that an assembler unrolls, if they are small."
    unroll_size "Nodes of the largest."
    unroll_smallest "Nodes of the smallest."
    unroll_loads "Loads of the one that has most."
    unroll_blocks "Blocks of the one that has most."
    unroll_trips "Most rounds of one that has a constant number of them."
    unroll_lean "Greatest pressure of several rounds in a row in an order with little alive."
    unroll_short "The same, loads somewhat early."
    unroll_middle "The same between the long and the short latency."
    unroll_long "The same with loads as early as they can be."
    bound "The most registers that launch bounds leave on 9.0."
    linear "The estimate of `linear`."
}

impl Features {
    /// Reads a function that has a body.
    pub fn of(function: &Function) -> Features {
        let machine = Machine::of(function);
        let live = Live::of(&machine);
        let mut features = Features::default();
        features.count(function);
        features.shape(&machine, &live);
        features.press(&machine, &live);
        features.press_fed(&machine, &live);
        features.fences_of(&machine, &live);
        features.counted_loops(function, &machine, &live);
        features.linear = super::linear::estimate(function);
        features
    }
}
