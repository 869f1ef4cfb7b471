// SPDX-License-Identifier: MIT OR Apache-2.0
//! `__managed__` variables whose storage is the host program's own variable.
//!
//! The host reads and writes such a variable directly, before any call and after the last one. So the module's
//! variable is bound to the host's address, in every context, and gets its first value once.
//! Invariant: a binding lives until the library goes, whatever becomes of contexts.

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::runtime::{self, Runtime};

/// A host variable that offers itself as a module variable's storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostVariable {
    pub name: String,
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// The host variables of a library; only those that the module declares as managed are bound.
#[derive(Clone, Debug, Default)]
pub struct HostVariables(pub Vec<HostVariable>);

impl HostVariables {
    pub(crate) fn find(&self, name: &str) -> Option<&HostVariable> {
        self.0.iter().find(|variable| variable.name == name)
    }

    /// Ends the bindings.
    pub(crate) fn unbind(&self, rt: &Runtime) {
        for variable in &self.0 {
            rt.unbind_host_variable(variable.address);
        }
    }
}

impl Context {
    /// Binds `size` bytes of a module's variable; tells whether they were not bound before. See
    /// [`Runtime::bind_host_variable`].
    pub(crate) fn bind_managed(
        &self,
        to: &HostVariable,
        size: u64,
        own_pages: bool,
    ) -> Result<bool> {
        if size > to.size {
            return Err(CudaError::InvalidValue);
        }
        runtime::get().bind_host_variable(to.address, size, self.device, (&to.name, own_pages))
    }
}
