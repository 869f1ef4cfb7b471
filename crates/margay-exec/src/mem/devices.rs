// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which devices' kernels may touch which memory: addresses are unified, access is not (CUDA Programming Guide,
//! "Peer-to-Peer Memory Access").

/// A set of devices by ordinal. Those from 63 on go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Devices(u64);

impl Devices {
    pub const NONE: Devices = Devices(0);
    pub const ALL: Devices = Devices(u64::MAX);

    pub fn one(ordinal: u32) -> Devices {
        Devices(1 << ordinal.min(63))
    }

    #[must_use]
    pub fn with(self, other: Devices) -> Devices {
        Devices(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Devices) -> Devices {
        Devices(self.0 & !other.0)
    }

    /// Whether a device is in both.
    pub fn meets(self, other: Devices) -> bool {
        self.0 & other.0 != 0
    }
}

/// Whom an allocation lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Devices that need no leave.
    pub devices: Devices,
    /// The device whose peers reach it too, if peer access to that device is what decides.
    pub peers_of: Devices,
}

impl Access {
    pub const EVERYBODY: Access = Access { devices: Devices::ALL, peers_of: Devices::NONE };

    /// The memory of a device (`cuMemAlloc`, a module's variables): its own, and its peers' (`cuCtxEnablePeerAccess`).
    pub fn home(device: u32) -> Access {
        Access { devices: Devices::one(device), peers_of: Devices::one(device) }
    }

    /// These devices only (`cuMemPoolSetAccess`, `cuMemSetAccess`).
    pub fn granted(devices: Devices) -> Access {
        Access { devices, peers_of: Devices::NONE }
    }

    pub fn lets_in(self, reach: Reach) -> bool {
        self.devices.meets(reach.own) || self.peers_of.meets(reach.peers)
    }
}

/// Whose memory a kernel may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The device that it runs on.
    pub own: Devices,
    /// Devices to which its context has peer access.
    pub peers: Devices,
}

impl Reach {
    /// Everything, as the host has it.
    pub const EVERYTHING: Reach = Reach { own: Devices::ALL, peers: Devices::ALL };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_let_in_where_peer_access_decides() {
        let alone = Reach { own: Devices::one(0), peers: Devices::NONE };
        let friend = Reach { peers: Devices::one(1), ..alone };
        assert!(Access::home(0).lets_in(alone) && !Access::home(1).lets_in(alone));
        assert!(Access::home(1).lets_in(friend) && !Access::home(2).lets_in(friend));
        let pool = Access::granted(Devices::one(1));
        assert!(!pool.lets_in(friend), "pools have access of their own");
        let open = Access::granted(Devices::one(1).with(Devices::one(0)));
        assert!(open.lets_in(alone));
        assert!(!Access::granted(open.devices.without(Devices::one(0))).lets_in(alone));
        assert!(Access::EVERYBODY.lets_in(alone) && Access::home(70).lets_in(Reach::EVERYTHING));
    }
}
