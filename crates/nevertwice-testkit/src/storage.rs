//! A data folder in memory that keeps two images: what a reader sees now, and what would survive a power cut.
//!
//! It breaks whatever `nevertwice_local::storage` does not promise: writes that were not synced are lost or kept by
//! sectors of 512 bytes, in any order, and some come back as garbage; names that were not synced are lost or kept in
//! any order; a failed sync forgets what it should have written, and the next one succeeds. Everything follows from
//! the seed, so a failing seed repeats.

mod disk;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use disk::{Disk, Fate, Inode, NameChange, SECTOR};
use nevertwice_local::storage::{FolderClaim, Storage, StorageFile};

/// The double. Clones are the same folder.
#[derive(Clone)]
pub struct MemoryStorage(Arc<Shared>);

struct Shared {
    disk: Mutex<Disk>,
    released: Condvar,
}

impl MemoryStorage {
    /// An empty folder.
    pub fn new(seed: u64) -> MemoryStorage {
        let disk = Disk {
            random: seed ^ 0x9e37_79b9_7f4a_7c15,
            inodes: BTreeMap::new(),
            live: BTreeMap::new(),
            durable: BTreeMap::new(),
            names: Vec::new(),
            next_inode: 1,
            claimed: false,
            life: 0,
            calls: 0,
            crash_at: None,
            crashed: false,
            fail_at: None,
            capacity: None,
            held: false,
            failures: 0,
            flips: Vec::new(),
        };
        MemoryStorage(Arc::new(Shared { disk: Mutex::new(disk), released: Condvar::new() }))
    }

    /// The calls that changed something so far: the points at which a crash or a failure can be planned.
    pub fn calls(&self) -> u64 {
        self.disk().calls
    }

    /// The process dies in the call that comes after `more` others: what it does may happen in part. Every call after
    /// it fails, until [`MemoryStorage::power_loss`] or [`MemoryStorage::kill`].
    pub fn crash_after(&self, more: u64) {
        let mut disk = self.disk();
        disk.crash_at = Some(disk.calls + more);
    }

    /// The call that comes after `more` others fails, once, and the process lives on.
    pub fn fail_after(&self, more: u64) {
        let mut disk = self.disk();
        disk.fail_at = Some(disk.calls + more);
    }

    /// How many planned failures there were.
    pub fn failures(&self) -> u64 {
        self.disk().failures
    }

    /// What is planned and has not happened does not happen.
    pub fn no_more_faults(&self) {
        let mut disk = self.disk();
        disk.crash_at = None;
        disk.fail_at = None;
    }

    /// Every sync of a file waits from now on, until [`MemoryStorage::release`].
    pub fn hold(&self) {
        self.disk().held = true;
    }

    /// Lets the syncs go on.
    pub fn release(&self) {
        self.disk().held = false;
        self.0.released.notify_all();
    }

    /// Whether the planned crash has happened.
    pub fn crashed(&self) -> bool {
        self.disk().crashed
    }

    /// The disk holds so many bytes in all; `None` for any number.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.disk().capacity = bytes;
    }

    /// The bytes that all files have now.
    pub fn used(&self) -> u64 {
        self.disk().used()
    }

    /// The process is gone and the power was cut: what was not synced is lost or kept as the seed has it.
    pub fn power_loss(&self) {
        let mut disk = self.disk();
        disk.lose_power();
        disk.end_process();
    }

    /// The process is gone, the machine goes on: a reader sees all that was written, synced or not.
    pub fn kill(&self) {
        self.disk().end_process();
    }

    /// A copy of the folder as it is now, with both images, no owner, and luck of its own.
    pub fn fork(&self, seed: u64) -> MemoryStorage {
        let fork = MemoryStorage::new(seed);
        {
            let disk = self.disk();
            let mut other = fork.disk();
            other.inodes = disk.inodes.clone();
            other.live = disk.live.clone();
            other.durable = disk.durable.clone();
            other.names = disk.names.clone();
            other.next_inode = disk.next_inode;
            other.capacity = disk.capacity;
        }
        fork
    }

    /// Turns bits of one byte, on the disk and in the cache.
    pub fn flip(&self, name: &str, offset: usize, mask: u8) {
        self.disk().flip(name, offset, mask);
    }

    /// Turns back all bits that were turned and have not been written over since, and says how many bytes had any.
    pub fn mend(&self) -> usize {
        self.disk().mend()
    }

    /// Puts a file there, durable.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut disk = self.disk();
        let number = disk.next_inode;
        disk.next_inode += 1;
        disk.inodes.insert(number, Inode { live: bytes.to_vec(), durable: bytes.to_vec(), ..Inode::default() });
        disk.live.insert(name.to_owned(), number);
        disk.durable.insert(name.to_owned(), number);
    }

    fn handle(&self, life: u64, inode: u64) -> Box<dyn StorageFile> {
        Box::new(MemoryFile { storage: self.clone(), inode, life })
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

struct MemoryClaim {
    storage: MemoryStorage,
    life: u64,
}

impl FolderClaim for MemoryClaim {}

impl Drop for MemoryClaim {
    fn drop(&mut self) {
        let mut disk = self.storage.disk();
        if disk.life == self.life {
            disk.claimed = false;
        }
    }
}

impl Storage for MemoryStorage {
    fn claim(&self) -> io::Result<Box<dyn FolderClaim>> {
        let mut disk = self.disk();
        disk.alive(disk.life)?;
        if disk.claimed {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        disk.claimed = true;
        Ok(Box::new(MemoryClaim { storage: self.clone(), life: disk.life }))
    }

    fn is_claimed(&self) -> io::Result<bool> {
        Ok(self.disk().claimed)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let disk = self.disk();
        disk.alive(disk.life)?;
        Ok(disk.live.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut disk = self.disk();
        if disk.live.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let (inode, life) = (disk.next_inode, disk.life);
        disk.next_inode += 1;
        disk.inodes.insert(inode, Inode::default());
        disk.rename_now(life, NameChange::Link(name.to_owned(), inode))?;
        Ok(self.handle(disk.life, inode))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let disk = self.disk();
        disk.alive(disk.life)?;
        let inode = *disk.live.get(name).ok_or_else(not_found)?;
        Ok(self.handle(disk.life, inode))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let disk = self.disk();
        disk.alive(disk.life)?;
        let inode = disk.live.get(name).ok_or_else(not_found)?;
        Ok(disk.inodes[inode].live.clone())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        let (inode, life) = (*disk.live.get(from).ok_or_else(not_found)?, disk.life);
        disk.rename_now(life, NameChange::Rename(from.to_owned(), to.to_owned(), inode))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.alive(disk.life)?;
        let (inode, life) = (*disk.live.get(name).ok_or_else(not_found)?, disk.life);
        disk.rename_now(life, NameChange::Unlink(name.to_owned(), inode))
    }

    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        let mut disk = self.disk();
        let (number, life) = (*disk.live.get(name).ok_or_else(not_found)?, disk.life);
        let fate = disk.change(life)?;
        let happens = matches!(fate, Fate::Happen) || (matches!(fate, Fate::Crash) && disk.coin());
        let inode = disk.inodes.get_mut(&number).ok_or_else(not_found)?;
        if happens {
            inode.live.truncate(len as usize);
            inode.cut_to = Some(inode.cut_to.map_or(len as usize, |cut| cut.min(len as usize)));
        }
        if matches!(fate, Fate::Happen) { Ok(()) } else { Err(io::Error::other("planned failure")) }
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut disk = self.disk();
        let life = disk.life;
        match disk.change(life)? {
            Fate::Happen => {
                disk.durable = disk.live.clone();
                disk.names.clear();
                Ok(())
            }
            Fate::Crash => Err(io::Error::other("the process is dead")),
            Fate::Fail => Err(io::Error::other("planned failure")),
        }
    }
}

struct MemoryFile {
    storage: MemoryStorage,
    inode: u64,
    life: u64,
}

impl StorageFile for MemoryFile {
    fn size(&self) -> io::Result<u64> {
        let disk = self.storage.disk();
        disk.alive(self.life)?;
        Ok(disk.inodes.get(&self.inode).ok_or_else(not_found)?.live.len() as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let disk = self.storage.disk();
        disk.alive(self.life)?;
        let live = &disk.inodes.get(&self.inode).ok_or_else(not_found)?.live;
        let from = live.get(offset as usize..).unwrap_or_default();
        let len = from.len().min(into.len());
        into[..len].copy_from_slice(&from[..len]);
        Ok(len)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let disk = &mut *self.storage.disk();
        let fate = disk.change(self.life)?;
        if matches!(fate, Fate::Fail) {
            return Err(io::Error::other("planned failure"));
        }
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        let used = disk.used();
        let mut inode = disk.inodes.remove(&self.inode).ok_or_else(not_found)?;
        let grows = end.saturating_sub(inode.live.len()) as u64;
        if disk.capacity.is_some_and(|capacity| grows > 0 && used + grows > capacity) {
            disk.inodes.insert(self.inode, inode);
            return Err(io::ErrorKind::StorageFull.into());
        }
        if inode.live.len() < end {
            inode.live.resize(end, 0);
        }
        for sector in start / SECTOR..end.div_ceil(SECTOR) {
            if matches!(fate, Fate::Crash) && disk.coin() {
                continue;
            }
            let from = start.max(sector * SECTOR);
            let to = end.min((sector + 1) * SECTOR);
            inode.live[from..to].copy_from_slice(&bytes[from - start..to - start]);
            inode.dirty.insert(sector);
        }
        disk.inodes.insert(self.inode, inode);
        disk.written_over(self.inode, start..end);
        if matches!(fate, Fate::Crash) { Err(io::Error::other("the process is dead")) } else { Ok(()) }
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut guard = self.storage.disk();
        while guard.held {
            guard = self.storage.0.released.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        let disk = &mut *guard;
        let fate = disk.change(self.life)?;
        let inode = disk.inodes.get_mut(&self.inode).ok_or_else(not_found)?;
        match fate {
            Fate::Happen => {
                for flip in disk.flips.iter_mut().filter(|flip| flip.inode == self.inode) {
                    flip.is_durable &= flip.is_live || !inode.dirty.contains(&(flip.offset / SECTOR));
                }
                inode.durable.truncate(inode.cut_to.take().unwrap_or(usize::MAX));
                inode.durable.resize(inode.live.len(), 0);
                for sector in std::mem::take(&mut inode.dirty) {
                    let start = sector * SECTOR;
                    let end = inode.live.len().min(start + SECTOR);
                    if start < end {
                        inode.durable[start..end].copy_from_slice(&inode.live[start..end]);
                    }
                }
                Ok(())
            }
            // What was dirty stays so, and the loss of power decides.
            Fate::Crash => Err(io::Error::other("the process is dead")),
            Fate::Fail => {
                // Linux marks the pages clean: nobody will write them any more.
                inode.dirty.clear();
                Err(io::Error::other("planned failure"))
            }
        }
    }
}
