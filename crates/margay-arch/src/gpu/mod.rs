// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file a compute capability. Each starts from the one it resembles most and states what differs.

use crate::capability::Limits;

// Places of figures that are not in the guide's table of technical specifications.
const CALCULATOR: &str = "CUDA Occupancy Calculator";
const RATIO: &str = "CUDA C++ Programming Guide, Arithmetic Instructions, table of throughputs";
const UNIFIED: &str =
    "CUDA C++ Programming Guide, Shared Memory of the capability; its tuning guide";

pub mod sm_10;
pub mod sm_100;
pub mod sm_103;
pub mod sm_11;
pub mod sm_110;
pub mod sm_12;
pub mod sm_120;
pub mod sm_121;
pub mod sm_13;
pub mod sm_20;
pub mod sm_21;
pub mod sm_30;
pub mod sm_32;
pub mod sm_35;
pub mod sm_37;
pub mod sm_50;
pub mod sm_52;
pub mod sm_53;
pub mod sm_60;
pub mod sm_61;
pub mod sm_62;
pub mod sm_70;
pub mod sm_72;
pub mod sm_75;
pub mod sm_80;
pub mod sm_86;
pub mod sm_87;
pub mod sm_89;
pub mod sm_90;

/// Every compute capability, in order.
pub static ALL: [&Limits; 29] = [
    &sm_10::LIMITS,
    &sm_11::LIMITS,
    &sm_12::LIMITS,
    &sm_13::LIMITS,
    &sm_20::LIMITS,
    &sm_21::LIMITS,
    &sm_30::LIMITS,
    &sm_32::LIMITS,
    &sm_35::LIMITS,
    &sm_37::LIMITS,
    &sm_50::LIMITS,
    &sm_52::LIMITS,
    &sm_53::LIMITS,
    &sm_60::LIMITS,
    &sm_61::LIMITS,
    &sm_62::LIMITS,
    &sm_70::LIMITS,
    &sm_72::LIMITS,
    &sm_75::LIMITS,
    &sm_80::LIMITS,
    &sm_86::LIMITS,
    &sm_87::LIMITS,
    &sm_89::LIMITS,
    &sm_90::LIMITS,
    &sm_100::LIMITS,
    &sm_103::LIMITS,
    &sm_110::LIMITS,
    &sm_120::LIMITS,
    &sm_121::LIMITS,
];
