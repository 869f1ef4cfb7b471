// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use opencl_sys::{CL_INVALID_CONTEXT, CL_INVALID_DEVICE, cl_context, cl_int};
use parking_lot::Mutex;

use crate::Result;
use crate::device::{Device, platform};
use crate::object::{Id, Object, Table};

/// `pfn_notify` of `clCreateContext`.
pub type Notify = unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void);

/// A pointer of the program's, which only travels back to it.
#[derive(Clone, Copy, Debug)]
pub struct UserData(pub *mut c_void);

// SAFETY: never dereferenced here; the specification makes thread safety the program's matter.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    /// Taken whole, so that closures capture the wrapper.
    pub fn get(self) -> *mut c_void {
        self.0
    }
}

/// A destructor callback and its argument.
pub type Destructor = (unsafe extern "C" fn(*mut c_void, *mut c_void), UserData);

/// A context, with a runtime context on each of its devices.
pub struct Context {
    id: Id,
    pub devices: Vec<Arc<Device>>,
    runtime: Vec<Arc<margay_runtime::Context>>,
    /// As given, with the terminating zero; empty if none were.
    pub properties: Vec<isize>,
    notify: Option<(Notify, UserData)>,
    pub destructors: Mutex<Vec<Destructor>>,
}

static CONTEXTS: Table<Context> = Table::new();

impl Object for Context {
    const INVALID: cl_int = CL_INVALID_CONTEXT;
    fn table() -> &'static Table<Self> {
        &CONTEXTS
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

impl Context {
    pub fn new(
        id: Id,
        devices: Vec<Arc<Device>>,
        runtime: Vec<Arc<margay_runtime::Context>>,
        properties: Vec<isize>,
        notify: Option<(Notify, UserData)>,
    ) -> Context {
        Context { id, devices, runtime, properties, notify, destructors: Mutex::default() }
    }

    /// The runtime's context on a device of this context.
    pub fn on(&self, device: &Device) -> Result<&Arc<margay_runtime::Context>> {
        let at = self.devices.iter().position(|d| d.ordinal == device.ordinal);
        at.map(|i| &self.runtime[i]).ok_or(CL_INVALID_DEVICE)
    }

    /// Where memory comes from: addresses are the same on every device.
    pub fn memory(&self) -> &Arc<margay_runtime::Context> {
        &self.runtime[0]
    }

    pub fn has(&self, device: &Device) -> bool {
        self.devices.iter().any(|d| d.ordinal == device.ordinal)
    }

    /// Says on stderr and to the program's callback why a call is refused whose code alone says little.
    pub fn refuse(&self, text: &str) {
        margay_runtime::report::warn(text);
        self.report(text);
    }

    /// Tells the program's callback about an error that no return value carries.
    pub fn report(&self, text: &str) {
        let Some((notify, data)) = self.notify else { return };
        let Ok(text) = CString::new(text.replace('\0', " ")) else { return };
        // SAFETY: the program's function, with its own data.
        unsafe { notify(text.as_ptr(), std::ptr::null(), 0, data.get()) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let handle: cl_context = self.id.handle();
        for (call, data) in std::mem::take(self.destructors.get_mut()).into_iter().rev() {
            // SAFETY: the program's function, with its own data.
            unsafe { call(handle, data.get()) };
        }
        if let Some(platform) = platform() {
            for context in self.runtime.drain(..) {
                // It may have gone with the process's end.
                let _ = platform.runtime.destroy_context(context.handle);
            }
        }
    }
}
