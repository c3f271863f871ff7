//! The driver for programs that have the model in their own process.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use nrt_core::driver::{AllocRequest, DeviceRange, DriverResult, Errno};

use crate::backing::{Backing, Region};
use crate::config::{MAX_DEVICES, SimConfig, SimError};
use crate::device::{CategoryUsage, Hazards, Live};
use crate::kernel::{Chunk, Kernel, MemAlloc, Span};
use crate::storage::SimStorage;

/// Regions of a device: four channels and the host window.
const REGIONS: usize = 5;

/// The model with memory behind it: an in-process [`Driver`](nrt_core::driver::Driver).
///
/// Metadata requests go to the [`Kernel`] under the configured process id; copies then move real bytes outside its
/// locks. Compared with the kernel interface it is strict: what the real driver lets through to its own or other
/// programs' harm is refused with `EINVAL` and counted in [`Hazards`]: copies and fills of length 0, category 19 in host
/// memory, and a range whose handle by now names another chunk (`driver-abi` §21).
///
/// # Concurrency
/// As [`Kernel`]. Copies of the same bytes at the same time are allowed; each byte is then one of those written.
pub struct Sim {
    kernel: Kernel,
    regions: [[AtomicPtr<u8>; REGIONS]; MAX_DEVICES as usize],
}

impl Sim {
    /// Makes the devices of `config` in `storage`, with memory from `backing`.
    ///
    /// # Errors
    /// Those of [`Kernel::new`]; [`SimError::Backing`] when a region cannot be had. After an error the storage is free.
    pub fn new<const CHUNKS: usize, const DEVICES: usize>(
        storage: &'static SimStorage<CHUNKS, DEVICES>,
        config: SimConfig,
        backing: &impl Backing,
    ) -> Result<Self, SimError> {
        let kernel = Kernel::new(storage, config)?;
        let regions = [const { [const { AtomicPtr::new(core::ptr::null_mut()) }; REGIONS] }; MAX_DEVICES as usize];
        let sim = Self { kernel, regions };
        match sim.obtain(backing) {
            Ok(()) => Ok(sim),
            Err(error) => {
                sim.kernel.unload();
                Err(error)
            }
        }
    }

    /// Asks for every region.
    fn obtain(&self, backing: &impl Backing) -> Result<(), SimError> {
        let config = self.kernel.config();
        for device in 0..config.devices {
            for channel in 0..config.arch.channels_per_device() {
                self.obtain_one(backing, Region::Hbm { device, channel }, config.hbm_bytes)?;
            }
            self.obtain_one(backing, Region::Host { device }, config.host_bytes)?;
        }
        Ok(())
    }

    /// Asks for one region. Its length must be an offset on this machine.
    fn obtain_one(&self, backing: &impl Backing, region: Region, bytes: u64) -> Result<(), SimError> {
        let missing = SimError::Backing { region, bytes };
        isize::try_from(bytes).map_err(|_| missing)?;
        let base = backing.region(region, bytes).ok_or(missing)?;
        self.slot(region).ok_or(missing)?.store(base.as_ptr(), Ordering::Release);
        Ok(())
    }

    /// Where the address of a region is kept.
    fn slot(&self, region: Region) -> Option<&AtomicPtr<u8>> {
        let (device, place) = match region {
            Region::Hbm { device, channel } => (device, channel as usize),
            Region::Host { device } => (device, REGIONS - 1),
        };
        self.regions.get(device as usize)?.get(place)
    }

    /// Address of the first byte of a span that the kernel model answered.
    pub(crate) fn address(&self, span: &Span) -> DriverResult<NonNull<u8>> {
        let base = self.slot(span.region).map(|slot| slot.load(Ordering::Acquire)).and_then(NonNull::new);
        let base = base.ok_or(Errno::ENODEV)?;
        let offset = usize::try_from(span.offset).map_err(|_| Errno::EINVAL)?;
        // SAFETY: the kernel model answers only spans inside a region; the region's length was checked to fit `isize`
        // when it was obtained, and the backing vouches that all of it is mapped at `base`.
        Ok(unsafe { base.add(offset) })
    }

    /// The kernel driver underneath, which also serves other process ids.
    #[must_use]
    pub const fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What is allocated on a device: all zero proves that everything went back.
    #[must_use]
    pub fn live(&self, device: u32) -> Live {
        self.kernel.live(device)
    }

    /// Usage of one driver category.
    #[must_use]
    pub fn category_usage(&self, device: u32, category: u32) -> CategoryUsage {
        self.kernel.category_usage(device, category)
    }

    /// What this program did that would harm a real device: all zero for a correct program.
    #[must_use]
    pub fn hazards(&self, device: u32) -> Hazards {
        self.kernel.hazards(device)
    }

    /// Process id under which requests are made.
    pub(crate) const fn pid(&self) -> u32 {
        self.kernel.config().process_id
    }

    /// The handle of a range, if it still names the chunk the range was filled for: an `mmap_offset` is the address of
    /// the whole chunk, also in ranges carved out of one.
    pub(crate) fn handle(&self, device: u32, range: &DeviceRange) -> DriverResult<u64> {
        let chunk = self.kernel.chunk(device, range.driver_handle)?;
        if chunk.pa != range.mmap_offset {
            self.kernel.count_stale_range(device);
            return Err(Errno::EINVAL);
        }
        Ok(chunk.handle)
    }

    /// Allocates and describes a chunk.
    pub(crate) fn allocate(&self, device: u32, request: &AllocRequest) -> DriverResult<Chunk> {
        let request = MemAlloc::from(request);
        let handle = self.kernel.alloc(self.pid(), device, &request)?;
        let chunk = self.kernel.chunk(device, handle)?;
        if chunk.is_contiguous_host() {
            self.kernel.free(self.pid(), device, handle)?;
            return Err(Errno::EINVAL);
        }
        Ok(chunk)
    }
}
