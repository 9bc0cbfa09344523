//! Archives in the "newc" format of cpio, which a kernel unpacks as its first file system.
//!
//! Several archives behind each other count as one, so a run appends its script to the initrd.
//! The format is in the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`.

const MAGIC: &str = "070701";
const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive that is being written. Owners, times and serial numbers are fixed: the same content
/// gives the same bytes.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// A directory.
    pub fn directory(self, name: &str) -> Self {
        self.entry(name, DIRECTORY, (0, 0), b"")
    }

    /// A file.
    pub fn file(self, name: &str, content: &[u8]) -> Self {
        self.entry(name, FILE, (0, 0), content)
    }

    /// A file that can be run.
    pub fn program(self, name: &str, content: &[u8]) -> Self {
        self.entry(name, PROGRAM, (0, 0), content)
    }

    /// A character device by its major and minor number.
    pub fn device(self, name: &str, major: u32, minor: u32) -> Self {
        self.entry(name, CHARACTER_DEVICE, (major, minor), b"")
    }

    /// The whole archive.
    pub fn finish(self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), b"").bytes
    }

    fn entry(mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) -> Self {
        self.entries += 1;
        let name_bytes = name.len() as u32 + 1;
        // Inode, mode, uid, gid, links, mtime, size, device of the file (2), device it is (2),
        // length of the name, checksum (which newc does not use).
        let (inode, size) = (self.entries, content.len() as u32);
        let (major, minor) = device;
        let fields = [inode, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_bytes, 0];
        self.bytes.extend(MAGIC.as_bytes());
        for field in fields {
            self.bytes.extend(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// The archive that a run appends to the initrd: the script that the guest runs.
pub fn with_script(script: &str) -> Vec<u8> {
    Archive::default().file("script", script.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_laid_out_as_the_kernel_reads_it() {
        let bytes = Archive::default().file("ab", b"hello").finish();
        assert_eq!(&bytes[..6], b"070701");
        assert_eq!(&bytes[14..22], b"000081A4");
        assert_eq!(&bytes[54..62], b"00000005");
        assert_eq!(&bytes[94..102], b"00000003");
        // Header and name end on a multiple of four, and so does the content.
        assert_eq!(&bytes[110..116], b"ab\0\0\0\0");
        assert_eq!(&bytes[116..124], b"hello\0\0\0");
        assert_eq!(&bytes[124..130], b"070701");
        assert!(bytes.ends_with(b"TRAILER!!!\0\0\0\0"));
    }

    #[test]
    fn the_same_content_gives_the_same_bytes() {
        assert_eq!(with_script("up\n"), with_script("up\n"));
        assert_ne!(with_script("up\n"), with_script("down\n"));
        assert_eq!(with_script("up\n").len() % 4, 0);
    }
}
