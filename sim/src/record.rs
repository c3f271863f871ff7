//! Chunk records: one per live chunk and one per free run, in address order per pool.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use spin::Mutex;
use zerocopy::FromZeros;

/// Index of a record; 0 is none (record 0 is never handed out).
pub(crate) type Link = u32;

/// No record.
pub(crate) const NONE: Link = 0;

/// Owner slot of chunks that belong to the device.
pub(crate) const DEVICE_OWNED: u8 = 0xFF;

/// What a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing.
    Unused,
    /// A maximal free run.
    Free,
    /// An allocated chunk.
    Live,
}

/// Ten words, all zero at first. Guarded by the lock of the device that holds the record (by that of the record pool
/// while it is unused); they are atomics so that sharing them needs no unsafe code, and relaxed because the locks order
/// them.
#[derive(FromZeros)]
pub(crate) struct Record {
    /// First page, counted from the start of the pool.
    start: AtomicU32,
    /// Pages.
    pages: AtomicU32,
    /// Neighbour below.
    prev: AtomicU32,
    /// Neighbour above; unused records: the next unused one.
    next: AtomicU32,
    /// Free: left child. Live: the owner's next newer chunk.
    left: AtomicU32,
    /// Free: right child. Live: the owner's next older chunk.
    right: AtomicU32,
    /// Free: parent. Live: handle, 0 for chunks of the device.
    parent: AtomicU32,
    /// Free: longest run of the subtree. Live: category.
    longest: AtomicU32,
    /// Kind, pool, core and owner slot.
    tag: AtomicU32,
    /// Live: mappings.
    maps: AtomicU32,
}

/// Kind, pool, core and owner of a record in one word: `00 | owner | core | pool | kind`, 8 bits each of the lower four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) kind: Kind,
    pub(crate) pool: u8,
    pub(crate) core: u8,
    pub(crate) owner: u8,
}

impl Tag {
    /// Tag of a free run.
    pub(crate) const fn free(pool: u8) -> Self {
        Self { kind: Kind::Free, pool, core: 0, owner: 0 }
    }

    const fn pack(self) -> u32 {
        let kind = match self.kind {
            Kind::Unused => 0,
            Kind::Free => 1,
            Kind::Live => 2,
        };
        u32::from_le_bytes([kind, self.pool, self.core, self.owner])
    }

    const fn unpack(word: u32) -> Self {
        let [kind, pool, core, owner] = word.to_le_bytes();
        let kind = match kind {
            1 => Kind::Free,
            2 => Kind::Live,
            _ => Kind::Unused,
        };
        Self { kind, pool, core, owner }
    }
}

/// Which records are unused.
pub(crate) struct Unused {
    /// Returned records, linked by `next`.
    head: Link,
    /// Records from here on were never used.
    watermark: Link,
}

impl Unused {
    /// The state before initialisation: all zero.
    pub(crate) const fn new() -> Self {
        Self { head: NONE, watermark: 0 }
    }
}

/// All records of a model and the pool of unused ones.
#[derive(Clone, Copy)]
pub(crate) struct Records {
    all: &'static [Record],
    unused: &'static Mutex<Unused>,
}

macro_rules! words {
    ($($get:ident $set:ident $field:ident;)*) => {$(
        #[doc = concat!("Reads `", stringify!($field), "`.")]
        pub(crate) fn $get(&self, link: Link) -> u32 {
            self.all[link as usize].$field.load(Relaxed)
        }

        #[doc = concat!("Writes `", stringify!($field), "`.")]
        pub(crate) fn $set(&self, link: Link, value: u32) {
            self.all[link as usize].$field.store(value, Relaxed);
        }
    )*};
}

impl Records {
    /// Takes the records over, all unused.
    pub(crate) fn new(all: &'static [Record], unused: &'static Mutex<Unused>) -> Self {
        *unused.lock() = Unused { head: NONE, watermark: 1 };
        Self { all, unused }
    }

    words! {
        start set_start start;
        pages set_pages pages;
        prev set_prev prev;
        next set_next next;
        left set_left left;
        right set_right right;
        parent set_parent parent;
        longest set_longest longest;
        newer set_newer left;
        older set_older right;
        handle set_handle parent;
        category set_category longest;
        maps set_maps maps;
    }

    /// Reads the tag.
    pub(crate) fn tag(&self, link: Link) -> Tag {
        Tag::unpack(self.all[link as usize].tag.load(Relaxed))
    }

    /// Writes the tag.
    pub(crate) fn set_tag(&self, link: Link, tag: Tag) {
        self.all[link as usize].tag.store(tag.pack(), Relaxed);
    }

    /// First page after the record.
    pub(crate) fn end(&self, link: Link) -> u32 {
        self.start(link) + self.pages(link)
    }

    /// Whether the record is a free run.
    pub(crate) fn is_free(&self, link: Link) -> bool {
        self.tag(link).kind == Kind::Free
    }

    /// Records that can be handed out.
    pub(crate) fn capacity(&self) -> u64 {
        self.all.len().saturating_sub(1) as u64
    }

    /// An unused record: the one returned last, else the next never used one.
    pub(crate) fn take(&self) -> Option<Link> {
        let mut unused = self.unused.lock();
        if unused.head != NONE {
            let link = unused.head;
            unused.head = self.next(link);
            return Some(link);
        }
        let link = unused.watermark;
        if (link as usize) < self.all.len() {
            unused.watermark = link + 1;
            return Some(link);
        }
        None
    }

    /// Returns a record.
    pub(crate) fn give_back(&self, link: Link) {
        self.set_tag(link, Tag { kind: Kind::Unused, pool: 0, core: 0, owner: 0 });
        let mut unused = self.unused.lock();
        self.set_next(link, unused.head);
        unused.head = link;
    }
}
