//! Settings and counters of a NIC by the ethtool ioctl: structures of 32-bit words, with a name for
//! each word that a script may set.

use crate::iface::Iface;
use crate::sys;
use std::io;
use std::os::fd::AsFd;

const SRXCSUM: u32 = 0x15;
const SSG: u32 = 0x19;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const TEST: u32 = 0x1a;
const ETH_SS_TEST: u32 = 0;
const STSO: u32 = 0x1f;
const SGSO: u32 = 0x24;
const GFLAGS: u32 = 0x25;
const SFLAGS: u32 = 0x26;
const SGRO: u32 = 0x2c;
const GSSET_INFO: u32 = 0x37;
const GRSSH: u32 = 0x46;

const ETH_SS_STATS: u32 = 1;
const ETH_GSTRING_LEN: usize = 32;
const ETH_FLAG_LRO: u32 = 1 << 15;
/// A string takes 32 bytes and a counter 8, so that both answers fit in their room.
const STATS_MAX: usize = (sys::ETHTOOL_BYTES - 16) / ETH_GSTRING_LEN;

/// A structure that is read, changed and written back.
struct Group {
    name: &'static str,
    get: u32,
    set: u32,
    words: usize,
    /// Name and index of its words.
    fields: &'static [(&'static str, usize)],
}

const GROUPS: &[Group] = &[
    Group {
        name: "coalesce",
        get: 0x0e,
        set: 0x0f,
        words: 23,
        fields: &[
            ("rx-usecs", 1),
            ("rx-frames", 2),
            ("rx-usecs-irq", 3),
            ("tx-usecs", 5),
            ("tx-frames", 6),
            ("tx-frames-irq", 8),
            ("adaptive-rx", 10),
            ("adaptive-tx", 11),
        ],
    },
    Group { name: "rings", get: 0x10, set: 0x11, words: 9, fields: &[("rx", 5), ("tx", 8)] },
    Group {
        name: "channels",
        get: 0x3c,
        set: 0x3d,
        words: 9,
        fields: &[("rx", 5), ("tx", 6), ("other", 7), ("combined", 8)],
    },
];

/// On-off settings that have a command of their own.
const SWITCHES: &[(&str, u32)] =
    &[("gro", SGRO), ("gso", SGSO), ("tso", STSO), ("sg", SSG), ("rxcsum", SRXCSUM)];

fn call(iface: &Iface, words: &[u32]) -> io::Result<Vec<u8>> {
    let request: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    sys::ethtool(iface.socket().as_fd(), &iface.name_bytes(), &request)
}

fn word(bytes: &[u8], index: usize) -> u32 {
    let four = bytes.get(4 * index..4 * index + 4).and_then(|b| b.try_into().ok());
    four.map_or(0, u32::from_ne_bytes)
}

/// Whether `name` is a group of settings.
pub fn is_group(name: &str) -> bool {
    GROUPS.iter().any(|g| g.name == name)
}

/// Reads a group, sets words of it, writes it back; gives what is set then, by name.
pub fn set(
    iface: &Iface,
    group: &str,
    pairs: &[(&str, u32)],
) -> Result<Vec<(&'static str, u32)>, String> {
    let group = GROUPS.iter().find(|g| g.name == group).ok_or("no such group of settings")?;
    let told = |error: io::Error| error.to_string();
    let bytes = call(iface, &[group.get]).map_err(told)?;
    let mut words: Vec<u32> = (0..group.words).map(|i| word(&bytes, i)).collect();
    for (name, value) in pairs {
        let field = group.fields.iter().find(|f| f.0 == *name);
        let (_, index) = field.ok_or_else(|| format!("{} has no '{name}'", group.name))?;
        words[*index] = *value;
    }
    if !pairs.is_empty() {
        words[0] = group.set;
        call(iface, &words).map_err(told)?;
    }
    let bytes = call(iface, &[group.get]).map_err(told)?;
    Ok(group.fields.iter().map(|&(name, index)| (name, word(&bytes, index))).collect())
}

/// Switches an offload.
pub fn switch(iface: &Iface, name: &str, on: bool) -> Result<(), String> {
    let told = |error: io::Error| error.to_string();
    if name == "lro" {
        let flags = word(&call(iface, &[GFLAGS, 0]).map_err(told)?, 1);
        let flags = if on { flags | ETH_FLAG_LRO } else { flags & !ETH_FLAG_LRO };
        return call(iface, &[SFLAGS, flags]).map(drop).map_err(told);
    }
    let (_, command) = SWITCHES.iter().find(|s| s.0 == name).ok_or("no such offload")?;
    call(iface, &[*command, on.into()]).map(drop).map_err(told)
}

/// The driver's counters by name, in its order.
pub fn stats(iface: &Iface) -> io::Result<Vec<(String, u64)>> {
    // struct ethtool_sset_info: command, reserved, mask of 64 bits, then one count a bit.
    let info = call(iface, &[GSSET_INFO, 0, 1 << ETH_SS_STATS, 0, 0])?;
    let count = word(&info, 4) as usize;
    if count > STATS_MAX {
        return Err(io::Error::other(format!("{count} counters, more than {STATS_MAX}")));
    }
    let names = call(iface, &[GSTRINGS, ETH_SS_STATS, count as u32])?;
    let values = call(iface, &[GSTATS, count as u32])?;
    let one = |i: usize| {
        let name = &names[12 + i * ETH_GSTRING_LEN..][..ETH_GSTRING_LEN];
        let name = name.split(|&b| b == 0).next().unwrap_or_default();
        let value = u64::from(word(&values, 2 + 2 * i)) | u64::from(word(&values, 3 + 2 * i)) << 32;
        (String::from_utf8_lossy(name).into_owned(), value)
    };
    Ok((0..count).map(one).collect())
}

/// Tests of the driver, those that do not disturb traffic; gives how many there are.
pub fn self_test(iface: &Iface) -> io::Result<usize> {
    let info = call(iface, &[GSSET_INFO, 0, 1 << ETH_SS_TEST, 0, 0])?;
    let count = word(&info, 4) as usize;
    // struct ethtool_test: command, flags, reserved, length, then a result of 64 bits each.
    call(iface, &[TEST, 0, 0, count as u32])?;
    Ok(count)
}

/// RSS: the indirection table and the key.
pub fn rss(iface: &Iface) -> io::Result<(Vec<u32>, Vec<u8>)> {
    let sizes = call(iface, &[GRSSH, 0, 0, 0, 0, 0])?;
    let (entries, key_bytes) = (word(&sizes, 2) as usize, word(&sizes, 3) as usize);
    if 4 * entries + key_bytes + 24 > sys::ETHTOOL_BYTES {
        return Err(io::Error::other("an indirection table that does not fit"));
    }
    let all = call(iface, &[GRSSH, 0, entries as u32, key_bytes as u32, 0, 0])?;
    let table = (0..entries).map(|i| word(&all, 6 + i)).collect();
    Ok((table, all[24 + 4 * entries..][..key_bytes].to_vec()))
}
