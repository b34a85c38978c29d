//! The disc behind the double: two images, names and sectors that were not synced, and luck.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

pub(super) const SECTOR: usize = 512;

pub(super) struct Disk {
    pub(super) random: u64,
    pub(super) inodes: BTreeMap<u64, Inode>,
    pub(super) live: BTreeMap<String, u64>,
    pub(super) durable: BTreeMap<String, u64>,
    /// Changes of names since the last sync of the folder.
    pub(super) names: Vec<NameChange>,
    pub(super) next_inode: u64,
    pub(super) claimed: bool,
    /// Raised by every end of the process: handles from before are dead.
    pub(super) life: u64,
    pub(super) calls: u64,
    pub(super) crash_at: Option<u64>,
    pub(super) crashed: bool,
    pub(super) fail_at: Option<u64>,
    pub(super) capacity: Option<u64>,
    /// Whether syncs wait.
    pub(super) held: bool,
    /// How many planned failures there were.
    pub(super) failures: u64,
    pub(super) flips: Vec<Flip>,
}

/// Bits that were turned, and in which image they still are.
pub(super) struct Flip {
    pub(super) inode: u64,
    pub(super) offset: usize,
    mask: u8,
    pub(super) is_live: bool,
    pub(super) is_durable: bool,
}

#[derive(Default, Clone)]
pub(super) struct Inode {
    pub(super) live: Vec<u8>,
    pub(super) durable: Vec<u8>,
    pub(super) dirty: BTreeSet<usize>,
    /// The shortest length since the last sync.
    pub(super) cut_to: Option<usize>,
}

#[derive(Clone)]
pub(super) enum NameChange {
    Link(String, u64),
    Rename(String, String, u64),
    Unlink(String, u64),
}

/// What a call that changes something shall do.
pub(super) enum Fate {
    Happen,
    /// Happen in part, and the process dies.
    Crash,
    Fail,
}

impl Disk {
    /// splitmix64
    pub(super) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn coin(&mut self) -> bool {
        self.draw() & 1 == 1
    }

    pub(super) fn used(&self) -> u64 {
        self.live.values().map(|inode| self.inodes[inode].live.len() as u64).sum()
    }

    pub(super) fn alive(&self, life: u64) -> io::Result<()> {
        if self.crashed || life != self.life { Err(io::Error::other("the process is dead")) } else { Ok(()) }
    }

    pub(super) fn change(&mut self, life: u64) -> io::Result<Fate> {
        self.alive(life)?;
        let call = self.calls;
        self.calls += 1;
        if self.crash_at == Some(call) {
            self.crash_at = None;
            self.crashed = true;
            return Ok(Fate::Crash);
        }
        if self.fail_at == Some(call) {
            self.fail_at = None;
            self.failures += 1;
            return Ok(Fate::Fail);
        }
        Ok(Fate::Happen)
    }

    /// Applies a change of names now, and remembers it until the folder is synced.
    pub(super) fn rename_now(&mut self, life: u64, change: NameChange) -> io::Result<()> {
        let fate = self.change(life)?;
        if matches!(fate, Fate::Fail) {
            return Err(io::Error::other("planned failure"));
        }
        let happens = matches!(fate, Fate::Happen) || self.coin();
        if happens {
            apply(&mut self.live, &change);
            self.names.push(change);
        }
        if matches!(fate, Fate::Crash) { Err(io::Error::other("the process is dead")) } else { Ok(()) }
    }

    pub(super) fn flip(&mut self, name: &str, offset: usize, mask: u8) {
        let number = *self.live.get(name).expect("the file is there");
        let inode = self.inodes.get_mut(&number).expect("every name has its file");
        inode.live[offset] ^= mask;
        let durable = inode.durable.get_mut(offset);
        let is_durable = durable.is_some();
        if let Some(byte) = durable {
            *byte ^= mask;
        }
        self.flips.push(Flip { inode: number, offset, mask, is_live: true, is_durable });
    }

    pub(super) fn mend(&mut self) -> usize {
        let mut mended = 0;
        for Flip { inode, offset, mask, is_live, is_durable } in std::mem::take(&mut self.flips) {
            let Some(inode) = self.inodes.get_mut(&inode) else { continue };
            let live = inode.live.get_mut(offset).filter(|_| is_live);
            let durable = inode.durable.get_mut(offset).filter(|_| is_durable);
            mended += usize::from(live.is_some() || durable.is_some());
            live.into_iter().chain(durable).for_each(|byte| *byte ^= mask);
        }
        mended
    }

    /// These bytes are not what they were, whatever bits had turned in them. On the disk they are, until they are synced.
    pub(super) fn written_over(&mut self, inode: u64, bytes: std::ops::Range<usize>) {
        for flip in self.flips.iter_mut().filter(|flip| flip.inode == inode && bytes.contains(&flip.offset)) {
            flip.is_live = false;
        }
    }

    pub(super) fn lose_power(&mut self) {
        for change in std::mem::take(&mut self.names) {
            if self.coin() {
                apply(&mut self.durable, &change);
            }
        }
        self.live = self.durable.clone();
        let kept: BTreeSet<u64> = self.durable.values().copied().collect();
        self.inodes.retain(|inode, _| kept.contains(inode));
        let numbers: Vec<u64> = self.inodes.keys().copied().collect();
        for number in numbers {
            let mut inode = self.inodes.remove(&number).unwrap_or_default();
            if let Some(len) = inode.cut_to.take()
                && self.coin()
            {
                inode.durable.truncate(len);
            }
            for sector in std::mem::take(&mut inode.dirty) {
                let fate = self.draw() % 8;
                let start = sector * SECTOR;
                let end = inode.live.len().min(start + SECTOR);
                if fate < 4 || start >= end {
                    continue;
                }
                if inode.durable.len() < end {
                    inode.durable.resize(end, 0);
                }
                for flip in self.flips.iter_mut().filter(|flip| flip.inode == number && (start..end).contains(&flip.offset)) {
                    flip.is_durable &= flip.is_live && fate != 7;
                }
                let garbage = (fate == 7).then(|| self.draw() as u8 | 1);
                for at in start..end {
                    inode.durable[at] = inode.live[at] ^ garbage.unwrap_or(0);
                }
            }
            inode.live = inode.durable.clone();
            self.inodes.insert(number, inode);
        }
        for flip in &mut self.flips {
            flip.is_live = flip.is_durable;
        }
    }

    pub(super) fn end_process(&mut self) {
        self.life += 1;
        self.claimed = false;
        self.crashed = false;
        self.crash_at = None;
        self.fail_at = None;
    }
}

fn apply(names: &mut BTreeMap<String, u64>, change: &NameChange) {
    match change {
        NameChange::Link(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        NameChange::Rename(from, to, inode) => {
            if names.get(from) == Some(inode) {
                names.remove(from);
            }
            names.insert(to.clone(), *inode);
        }
        NameChange::Unlink(name, inode) => {
            if names.get(name) == Some(inode) {
                names.remove(name);
            }
        }
    }
}
