// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory objects and SVM allocations.
//!
//! A buffer is memory that host and kernels reach at one address. One with CL_MEM_USE_HOST_PTR has a copy of
//! the program's memory, which mapping brings up to date, as the specification allows.
//!
//! Invariant: commands hold the objects that they use, so memory is freed after the last of them.

use std::collections::HashMap;
use std::sync::Arc;

use margay_runtime::Wanted;
use opencl_sys::{
    CL_INVALID_MEM_OBJECT, CL_INVALID_OPERATION, CL_MEM_COPY_HOST_PTR,
    CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_MEM_OBJECT_BUFFER, CL_MEM_USE_HOST_PTR, cl_bitfield,
    cl_int, cl_mem, cl_mem_object_type,
};
use parking_lot::Mutex;

use crate::Result;
use crate::context::{Context, Destructor};
use crate::device::platform;
use crate::image::Shape;
use crate::object::{self, Id, Object, Table};
use crate::transfer::{Copy as Copying, Layout, told};

/// Alignment of buffers in bytes: CL_DEVICE_MEM_BASE_ADDR_ALIGN says it in bits.
pub const ALIGNMENT: u64 = 256;

/// Memory of the virtual GPU.
pub struct Storage {
    pub address: u64,
    pub size: u64,
}

impl Storage {
    pub fn new(context: &Context, size: u64, align: u64, label: &str) -> Result<Storage> {
        let address = context.memory().buffer(size, align, label);
        let address = address.map_err(|_| CL_MEM_OBJECT_ALLOCATION_FAILURE)?;
        Ok(Storage { address, size })
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(platform) = platform() {
            // Gone already if the program ends.
            let _ = platform.runtime.release_buffer(self.address);
        }
    }
}

/// A region of an object that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The pointer that the program got.
    pub pointer: usize,
    /// Writes are to reach the object when it is unmapped.
    pub writes: bool,
    /// The region in bytes, rows and slices, and its place in the object and the program's memory alike.
    pub bytes: [u64; 3],
    pub layout: Layout,
}

impl Mapping {
    /// As a region of the memory that its object is a part of.
    fn in_root(mut self, object: &Mem) -> Mapping {
        self.layout.origin[0] += object.offset_in_storage;
        self
    }

    /// Whether both have bytes in common; of the same memory, in which the rows of each ascend.
    fn meets(&self, other: &Mapping) -> bool {
        let (mut mine, mut others) =
            (self.layout.rows(self.bytes).peekable(), other.layout.rows(other.bytes).peekable());
        while let (Some(a), Some(b)) = (mine.peek(), others.peek()) {
            if a + self.bytes[0] <= *b {
                mine.next();
            } else if b + other.bytes[0] <= *a {
                others.next();
            } else {
                return true;
            }
        }
        false
    }

    /// Copies what is mapped between two memories of the object's layout, which begin at these addresses.
    ///
    /// # Safety
    /// Both have room for the object.
    pub unsafe fn copy(&self, from: u64, to: u64) {
        // SAFETY: the mapping was checked against the object when it was made.
        unsafe { Copying { from, to }.rectangle(self.bytes, self.layout, self.layout) };
    }

    /// Tells those who watch the program that the host wrote the region of the object that begins at this address.
    pub fn told(&self, address: u64) {
        for row in self.layout.rows(self.bytes) {
            told(address + row, None, self.bytes[0]);
        }
    }
}

/// What makes a memory object an image.
pub struct ImagePart {
    pub shape: Shape,
    /// The texture unit's.
    pub handle: u64,
}

impl Drop for ImagePart {
    fn drop(&mut self) {
        if let Some(platform) = platform() {
            platform.runtime.memory.objects().remove(self.handle);
        }
    }
}

/// A memory object.
pub struct Mem {
    id: Id,
    pub context: Arc<Context>,
    pub flags: cl_bitfield,
    pub size: u64,
    /// In the parent, for sub-buffers.
    pub offset: u64,
    /// Where the object begins in its memory.
    pub offset_in_storage: u64,
    pub parent: Option<Arc<Mem>>,
    pub storage: Arc<Storage>,
    /// `None` for buffers.
    pub image: Option<ImagePart>,
    /// As given; 0 is null.
    pub host_pointer: usize,
    pub properties: Vec<u64>,
    pub maps: Mutex<Vec<Mapping>>,
    /// Of an object that is no part of another: what is mapped for writing of it and its parts.
    written: Mutex<Vec<Mapping>>,
    pub destructors: Mutex<Vec<Destructor>>,
}

static MEMS: Table<Mem> = Table::new();

impl Object for Mem {
    const INVALID: cl_int = CL_INVALID_MEM_OBJECT;
    fn table() -> &'static Table<Self> {
        &MEMS
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

impl Mem {
    /// A buffer with its own memory.
    pub fn buffer(
        id: Id,
        context: Arc<Context>,
        flags: cl_bitfield,
        storage: impl Into<Arc<Storage>>,
        size: u64,
        host_pointer: usize,
        properties: Vec<u64>,
    ) -> Mem {
        Mem {
            id,
            context,
            flags,
            size,
            offset: 0,
            offset_in_storage: 0,
            parent: None,
            storage: storage.into(),
            image: None,
            host_pointer: if flags & CL_MEM_USE_HOST_PTR != 0 { host_pointer } else { 0 },
            properties,
            maps: Mutex::default(),
            written: Mutex::default(),
            destructors: Mutex::default(),
        }
    }

    /// A part of a buffer.
    pub fn part(id: Id, parent: &Arc<Mem>, flags: cl_bitfield, offset: u64, size: u64) -> Mem {
        let host_pointer = match parent.host_pointer {
            0 => 0,
            pointer => pointer + offset as usize,
        };
        Mem {
            id,
            context: parent.context.clone(),
            flags: flags | parent.flags & CL_MEM_COPY_HOST_PTR,
            size,
            offset,
            offset_in_storage: parent.offset_in_storage + offset,
            parent: Some(parent.clone()),
            storage: parent.storage.clone(),
            image: None,
            host_pointer,
            properties: Vec::new(),
            maps: Mutex::default(),
            written: Mutex::default(),
            destructors: Mutex::default(),
        }
    }

    /// As an image over the memory.
    pub fn with_image(mut self, shape: Shape, handle: u64) -> Mem {
        self.image = Some(ImagePart { shape, handle });
        self
    }

    /// Enters a mapping; CL_INVALID_OPERATION for writes to what is mapped for writing already, as a region of this
    /// object or of another one over the same memory.
    pub fn map(&self, mapping: Mapping) -> Result<()> {
        if mapping.writes {
            let mapping = mapping.in_root(self);
            let mut written = self.root().written.lock();
            if written.iter().any(|other| other.meets(&mapping)) {
                return Err(CL_INVALID_OPERATION);
            }
            written.push(mapping);
        }
        self.maps.lock().push(mapping);
        Ok(())
    }

    /// Takes out the last mapping that `which` says.
    pub fn unmap(&self, which: impl Fn(&Mapping) -> bool) -> Option<Mapping> {
        let mut maps = self.maps.lock();
        let mapping = maps.iter().rposition(which).map(|at| maps.remove(at))?;
        drop(maps);
        let of_root = mapping.in_root(self);
        let mut written = self.root().written.lock();
        if let Some(at) = written.iter().position(|m| *m == of_root) {
            written.remove(at);
        }
        Some(mapping)
    }

    /// What a kernel gets: an address, or an image's handle.
    pub fn argument(&self) -> u64 {
        self.image.as_ref().map_or(self.address(), |i| i.handle)
    }

    /// CL_MEM_TYPE.
    pub fn kind(&self) -> cl_mem_object_type {
        self.image.as_ref().map_or(CL_MEM_OBJECT_BUFFER, |i| i.shape.kind)
    }

    /// Whether the program maps the object's own memory, and not a copy that it gave.
    pub fn is_direct(&self) -> bool {
        self.host_pointer == 0 || self.host_pointer as u64 == self.address()
    }

    /// Where the program sees the object when it is mapped.
    pub fn host_address(&self) -> u64 {
        if self.host_pointer == 0 { self.address() } else { self.host_pointer as u64 }
    }

    /// Where it begins, for kernels and host alike.
    pub fn address(&self) -> u64 {
        self.storage.address + self.offset_in_storage
    }

    /// Whether the range lies inside.
    pub fn holds(&self, offset: u64, size: u64) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.size)
    }

    /// The object whose memory it is.
    pub fn root(&self) -> &Mem {
        self.parent.as_ref().map_or(self, |p| p.root())
    }
}

impl Drop for Mem {
    fn drop(&mut self) {
        let handle: cl_mem = self.id.handle();
        // Only who watches the program asks for it.
        if platform().is_some_and(|platform| platform.runtime.is_watched()) {
            RELEASED.lock().get_or_insert_default().insert(handle.addr(), self.address());
        }
        for (call, data) in std::mem::take(self.destructors.get_mut()).into_iter().rev() {
            // SAFETY: the program's function, with its own data.
            unsafe { call(handle, data.get()) };
        }
    }
}

/// Where the objects of handles began that are none any more. Handles are used again, so they are few.
static RELEASED: Mutex<Option<HashMap<usize, u64>>> = Mutex::new(None);

/// Where the memory began of an object that is gone, or that only commands still use.
pub fn released(handle: cl_mem) -> Option<u64> {
    if let Ok(mem) = object::get::<Mem>(handle) {
        return Some(mem.address());
    }
    RELEASED.lock().as_ref()?.get(&handle.addr()).copied()
}

/// The memory object of a handle. Those who watch the program are told if it was released.
pub fn used(handle: cl_mem) -> Result<Arc<Mem>> {
    object::get::<Mem>(handle).inspect_err(|_| tell_released(handle))
}

/// Tells those who watch the program that an object was used after its release, if that is what a handle is of.
pub fn tell_released(handle: cl_mem) {
    let gone = || Some((platform()?, released(handle)?));
    if let Some((platform, address)) = gone() {
        platform.runtime.observed_refusal(Wanted::Use, address, 0);
    }
}

/// SVM allocations of all contexts.
static SVM: Mutex<Vec<Svm>> = Mutex::new(Vec::new());

/// An SVM allocation.
#[derive(Clone)]
pub struct Svm {
    pub storage: Arc<Storage>,
}

impl Svm {
    pub fn keep(self) {
        SVM.lock().push(self);
    }

    /// The allocation that holds the address.
    pub fn find(address: u64) -> Option<Svm> {
        let inside = |s: &&Svm| {
            let Storage { address: base, size } = *s.storage;
            (base..base + size.max(1)).contains(&address)
        };
        SVM.lock().iter().find(inside).cloned()
    }

    /// Ends an allocation that begins at the address.
    pub fn free(address: u64) -> Option<Svm> {
        let mut all = SVM.lock();
        let at = all.iter().position(|s| s.storage.address == address)?;
        Some(all.swap_remove(at))
    }
}
