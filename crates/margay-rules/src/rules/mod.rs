// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules, a file each, in chapters. A new one is a file and a row in [`ALL`].

pub mod functions;
pub mod launches;
pub mod meta;
pub mod variables;

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
    &variables::specifier_on_member::RULE,
    &variables::specifier_on_parameter::RULE,
    &variables::specifier_in_host_function::RULE,
    &variables::device_variable_at_function_scope::RULE,
    &variables::two_memory_spaces::RULE,
    &variables::extern_device_variable::RULE,
    &variables::shared_initialiser::RULE,
    &variables::dynamic_initialiser::RULE,
    &variables::constant_written::RULE,
    &variables::device_variable_on_host::RULE,
    &variables::device_address_on_host::RULE,
    &variables::device_address_escapes::RULE,
    &variables::device_pointer_on_host::RULE,
    &variables::host_variable_in_device::RULE,
    &variables::managed_restrictions::RULE,
    &variables::constant_too_large::RULE,
    &variables::static_shared_too_large::RULE,
    &variables::dynamic_shared_alias::RULE,
    &variables::misaligned_carve_up::RULE,
    &launches::grid_too_large::RULE,
    &launches::block_too_large::RULE,
    &launches::block_not_of_warps::RULE,
    &launches::dynamic_shared_too_large::RULE,
    &launches::launch_unchecked::RULE,
    &launches::result_read_unsynchronised::RULE,
    &launches::atomic_unsupported::RULE,
    &launches::atomic_on_mapped::RULE,
    &launches::double_before_1_3::RULE,
    &launches::warp_function_without_sync::RULE,
];
