// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control flow and the miscellaneous instructions (PTX ISA, "Control Flow Instructions" and
//! "Miscellaneous Instructions").
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
# bra  control-flow-instructions-bra
@ ptx 1.0 sm_10
bra{.uni} tgt

# brx.idx  control-flow-instructions-brx-idx
@ ptx 6.0 sm_30
brx.idx{.uni} index, tlist

# call  control-flow-instructions-call
@ ptx 1.0 sm_10
call{.uni} (ret-param), func, (param-list)
call{.uni} func, (param-list)
call{.uni} (ret-param), func
call{.uni} func
@ ptx 2.1 sm_20
call{.uni} (ret-param), fptr, (param-list), targets
call{.uni} fptr, (param-list), targets
call{.uni} fptr, targets

# ret  control-flow-instructions-ret
@ ptx 1.0 sm_10
ret{.uni}

# exit  control-flow-instructions-exit
exit

# brkpt  miscellaneous-instructions-brkpt
brkpt

# trap  miscellaneous-instructions-trap
trap

# nanosleep  miscellaneous-instructions-nanosleep
@ ptx 6.3 sm_70
nanosleep.u32 t

# pmevent  miscellaneous-instructions-pmevent
@ ptx 1.4 sm_10
pmevent a
@ ptx 3.0 sm_20
pmevent.mask a

# setmaxnreg  miscellaneous-instructions-setmaxnreg
@ ptx 8.0 sm_90a
.action = .inc .dec
setmaxnreg.action.sync.aligned.u32 imm-reg-count

# griddepcontrol  parallel-synchronization-and-communication-instructions-griddepcontrol
@ ptx 7.8 sm_90
.action = .launch_dependents .wait
griddepcontrol.action
";
