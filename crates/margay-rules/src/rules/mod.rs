// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules, a file each, in chapters. A new one is a file and a row in [`ALL`].

pub mod functions;
pub mod meta;

use crate::rule::Rule;

/// Every rule, in the order of its code.
pub static ALL: &[&Rule] = &[
    &meta::unknown_code::RULE,
    &functions::kernel_returns_void::RULE,
    &functions::kernel_needs_configuration::RULE,
    &functions::kernel_with_host_or_device::RULE,
    &functions::device_called_from_host::RULE,
    &functions::host_called_from_device::RULE,
    &functions::device_function_address_on_host::RULE,
    &functions::launch_from_device::RULE,
    &functions::recursion_before_fermi::RULE,
    &functions::function_pointer_before_fermi::RULE,
    &functions::static_variable_in_device::RULE,
    &functions::variadic_device::RULE,
    &functions::variadic_kernel::RULE,
    &functions::unresolved_space_before_fermi::RULE,
    &functions::builtin_variable_written::RULE,
    &functions::static_data_member::RULE,
    &functions::arch_dependent_signature::RULE,
    &functions::kernel_is_member::RULE,
    &functions::virtual_argument::RULE,
    &functions::noinline_and_forceinline::RULE,
    &functions::parameters_too_large::RULE,
    &functions::device_only_in_host_device::RULE,
    &functions::host_function_in_host_device::RULE,
    &functions::reference_to_host_object::RULE,
    &functions::exceptions_in_device::RULE,
];
