//! The file system under the data folder, and what is bad about some of them.

use std::path::Path;

use super::finding::{Finding, Grade};

const SUBJECT: &str = "file system";

pub(super) fn look(place: &Path) -> Finding {
    let whole = place.canonicalize().unwrap_or_else(|_| place.to_owned());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match mount_of(&mounts, &whole) {
        Some(mount) => judge(&mount),
        None => Finding::new(
            SUBJECT,
            Grade::Note,
            format!("this system does not tell which one {} is on", place.display()),
            "Whether a sync there survives a power cut is not known.",
            "keep the data folder on a local disk",
        ),
    }
}

/// What is mounted where a path is.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    point: String,
    kind: String,
    options: String,
}

/// The mount that a path is on: of those that lie above it the longest, and of several at one place the last.
fn mount_of(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mut best: Option<Mount> = None;
    for mount in mountinfo.lines().filter_map(parse) {
        let is_above = path.starts_with(&mount.point);
        if is_above && best.as_ref().is_none_or(|best| mount.point.len() >= best.point.len()) {
            best = Some(mount);
        }
    }
    best
}

/// A line such as `36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue`.
fn parse(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(4);
    let (point, here) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (kind, whole) = (right.next()?, right.nth(1).unwrap_or_default());
    Some(Mount { point: plain(point), kind: kind.to_owned(), options: format!("{here},{whole}") })
}

/// Spaces, tabs, line ends and backslashes are written as three octal digits.
fn plain(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

fn judge(mount: &Mount) -> Finding {
    let Mount { point, kind, options } = mount;
    let found = format!("{kind}, mounted at {point}");
    let has = |option: &str| options.split(',').any(|known| known == option);
    let (grade, means, advice) = match kind.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" => (
            Grade::Error,
            "It is memory: a power cut or a restart of the machine forgets everything that was acknowledged.",
            "put the data folder on a disk",
        ),
        _ if has("ro") => (Grade::Error, "It is mounted read-only: nothing can be written.", "mount it for writing, or choose another"),
        "overlay" | "aufs" => (
            Grade::Warning,
            "It is a container's own layer: the data go when the container is removed, and the first write copies whole files.",
            "mount a volume at the data folder",
        ),
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "virtiofs" | "ceph" | "glusterfs" | "afs" | "lustre" => (
            Grade::Warning,
            "It is reached over a network or through a host: a sync is as good as the other side's, and so is the lock that keeps a second server out.",
            "put the data folder on a local disk or a block device, and copy backups to the network",
        ),
        _ if kind.starts_with("fuse") => (
            Grade::Warning,
            "A program serves it: whether a sync reaches a medium is that program's matter.",
            "put the data folder on a file system of the kernel",
        ),
        "vfat" | "msdos" | "exfat" | "ntfs" | "ntfs3" => (
            Grade::Warning,
            "It does not keep names and lengths through a power cut as the journal needs it.",
            "put the data folder on ext4 or XFS",
        ),
        _ if has("nobarrier") || has("barrier=0") => (
            Grade::Warning,
            "It is mounted without barriers: a sync returns before the disk has emptied its cache.",
            "mount it with barriers, unless the cache has a battery",
        ),
        "btrfs" | "zfs" | "bcachefs" => (
            Grade::Note,
            "It writes copies: overwriting needs new room, so a full disk fails a sync, after which nothing is decided until a restart; elsewhere a full disk is waited out.",
            "keep a good part of it free; on btrfs, `chattr +C` on the empty data folder",
        ),
        "ext4" | "ext3" | "xfs" | "f2fs" | "jfs" | "apfs" | "ufs" => {
            return Finding::fine(SUBJECT, found, "A sync there survives a power cut, if the disk keeps its word.");
        }
        _ => (
            Grade::Note,
            "It is not one that is known here: whether a sync there survives a power cut is not known.",
            "ask its documentation about fsync, or use ext4 or XFS",
        ),
    };
    Finding::new(SUBJECT, grade, found, means, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n\
        23 22 0:21 / /srv rw shared:2 - nfs4 host:/srv rw,vers=4.2\n\
        24 22 0:22 / /srv/data rw - xfs /dev/sdb rw,nobarrier\n\
        25 22 0:23 / /run rw - tmpfs tmpfs rw,size=1k\n\
        26 22 0:24 / /a\\040b ro,relatime - ext4 /dev/sdc rw\n\
        27 22 0:25 / /run ro - overlay overlay rw\n\
        nonsense\n";

    #[test]
    fn a_path_is_on_the_nearest_mount_above_it_and_the_last_one_there() {
        for (path, kind, grade) in [
            ("/var/lib", "ext4", Grade::Fine),
            ("/srv", "nfs4", Grade::Warning),
            ("/srv/database", "nfs4", Grade::Warning),
            ("/srv/data/x", "xfs", Grade::Warning),
            ("/a b/c", "ext4", Grade::Error),
            ("/run/x", "overlay", Grade::Error),
        ] {
            let mount = mount_of(MOUNTS, Path::new(path)).expect("the root is mounted");
            assert_eq!((mount.kind.as_str(), judge(&mount).grade), (kind, grade), "{path}");
        }
        assert_eq!(mount_of("", Path::new("/srv")), None);
    }

    #[test]
    fn each_kind_is_judged() {
        let grade = |kind: &str| judge(&Mount { point: "/".to_owned(), kind: kind.to_owned(), options: "rw".to_owned() }).grade;
        for (kind, expected) in [
            ("tmpfs", Grade::Error),
            ("overlay", Grade::Warning),
            ("fuse.sshfs", Grade::Warning),
            ("9p", Grade::Warning),
            ("exfat", Grade::Warning),
            ("btrfs", Grade::Note),
            ("xfs", Grade::Fine),
            ("a-new-one", Grade::Note),
        ] {
            assert_eq!(grade(kind), expected, "{kind}");
        }
    }
}
