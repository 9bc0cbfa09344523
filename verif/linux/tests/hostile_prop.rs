//! Front ends that mean harm or are broken: what they do is an error that names it, never a panic.

mod peer;

use peer::{
    memory_file, memory_table, message, ring_address, ring_place, send, serve_to_end, state,
    FrontEnd, BYTES, ENTRIES,
};
use proptest::prelude::*;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

/// What the server says of a session that is set up and then goes wrong.
fn after_set_up(wrong: impl FnOnce(&mut FrontEnd)) -> String {
    let mut front = FrontEnd::connect();
    wrong(&mut front);
    let _ = front.socket.shutdown(Shutdown::Write);
    front.outcome().expect_err("an error")
}

/// A kick without an answer, for it may be the last.
fn kick(front: &mut FrontEnd, ring: u32) {
    front.send_raw(&message(35, 0, &state(ring, 0)));
}

#[test]
fn what_is_wrong_with_a_ring_is_named() {
    let said = after_set_up(|front| {
        front.put(ring_place(0).avail + 2, &1000_u16.to_le_bytes());
        kick(front, 0);
    });
    assert!(said.contains("ring 0: its index is 1000"), "{said}");
    let said = after_set_up(|front| {
        let mut looping = [0; 16];
        looping[12] = 1;
        front.put(ring_place(0).desc, &looping);
        front.put(ring_place(0).avail + 2, &[1]);
        kick(front, 0);
    });
    assert!(said.contains("it loops"), "{said}");
    let said = after_set_up(|front| {
        front.put(ring_place(0).avail + 4, &77_u16.to_le_bytes());
        front.put(ring_place(0).avail + 2, &[1]);
        kick(front, 0);
    });
    assert!(said.contains("descriptor 77 is not among its 16"), "{said}");
    let said = after_set_up(|front| {
        front.offer(0, &[(BYTES * 2, 16, false)]);
        kick(front, 0);
    });
    assert!(said.contains("are not in the memory that is shared"), "{said}");
    let said = after_set_up(|front| {
        front.offer(0, &[(0, u32::MAX, false)]);
        kick(front, 0);
    });
    assert!(said.contains("more than 65536 bytes"), "{said}");
}

#[test]
fn memory_that_is_taken_away_is_an_error() {
    let said = after_set_up(|front| {
        front.offer(0, &[(0x5_0000, 16, false)]);
        front.memory.set_len(0x1000).expect("a cut");
        kick(front, 0);
    });
    assert!(said.contains("ring 0") || said.contains("shared memory at"), "{said}");
}

#[test]
fn a_session_out_of_order_is_named() {
    for (request, payload, why) in [
        (9, ring_address(0), "before it shares memory"),
        (8, state(5, 16), "ring 5, there are 2"),
        (8, state(0, 17), "17 entries"),
        (10, state(0, 70_000), "above 65535"),
        (16, (1_u64 << 60).to_le_bytes().to_vec(), "of which"),
        (16, 0_u64.to_le_bytes().to_vec(), "lacks protocol features"),
        (35, state(9, 0), "ring 9"),
        (99, Vec::new(), "not known"),
    ] {
        let (socket, theirs) = UnixStream::pair().expect("a pair");
        send(&socket, &message(request, 0, &payload), &[]);
        drop(socket);
        let said = serve_to_end(theirs).expect_err("an error").to_string();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn memory_that_can_not_be_is_named() {
    let (pipe, _other) = UnixStream::pair().expect("a pair");
    let short = memory_file(4096);
    for (fd, why) in [(pipe.as_fd(), "is no file"), (short.as_fd(), "ends behind its file")] {
        let (socket, theirs) = UnixStream::pair().expect("a pair");
        send(&socket, &message(5, 0, &memory_table(BYTES)), &[fd]);
        drop(socket);
        let said = serve_to_end(theirs).expect_err("an error").to_string();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_message_that_is_cut_is_named() {
    let (socket, theirs) = UnixStream::pair().expect("a pair");
    send(&socket, &message(2, 0, &[0; 8])[..15], &[]);
    drop(socket);
    let said = serve_to_end(theirs).expect_err("an error").to_string();
    assert!(said.contains("in the middle of a message"), "{said}");
}

#[test]
fn too_many_descriptors_are_named() {
    let file = memory_file(4096);
    let (socket, theirs) = UnixStream::pair().expect("a pair");
    send(&socket, &message(5, 0, &memory_table(BYTES)), &[file.as_fd(); 16]);
    drop(socket);
    let said = serve_to_end(theirs).expect_err("an error").to_string();
    assert!(said.contains("more than 8 file descriptors"), "{said}");
}

/// The messages of a session up to its rings, without answers.
fn set_up(socket: &UnixStream, memory: &std::fs::File) {
    send(socket, &message(5, 0, &memory_table(BYTES)), &[memory.as_fd()]);
    for ring in 0..2 {
        send(socket, &message(8, 0, &state(ring, ENTRIES.into())), &[]);
        send(socket, &message(9, 0, &ring_address(ring)), &[]);
        send(socket, &message(18, 0, &state(ring, 1)), &[]);
    }
}

/// A command as Linux may send it, or one that is a little off.
fn some_command() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![Just(1_u32), Just(2), Just(4), Just(8), 0_u32..300, any::<u32>()];
    let addr = prop_oneof![0_u64..0x2_0000, 0_u64..0x100, any::<u64>()];
    let data = proptest::collection::vec(any::<u8>(), 0..40);
    (0_u8..8, 0_u8..7, size, addr, data).prop_map(|(op, bar, size, addr, data)| {
        let mut bytes = vec![op, bar, 0, 0];
        bytes.extend(size.to_le_bytes());
        bytes.extend(addr.to_le_bytes());
        bytes.extend(data);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (socket, theirs) = UnixStream::pair().expect("a pair");
        send(&socket, &bytes, &[]);
        drop(socket);
        let _ = serve_to_end(theirs);
    }

    #[test]
    fn any_requests_end_without_a_panic(
        all in proptest::collection::vec(
            (0_u32..40, 0_u32..16, proptest::collection::vec(0_u8..4, 0..80)), 0..12)
    ) {
        let (socket, theirs) = UnixStream::pair().expect("a pair");
        for (request, flags, payload) in all {
            send(&socket, &message(request, flags & 8, &payload), &[]);
        }
        let _ = socket.shutdown(Shutdown::Write);
        let _ = serve_to_end(theirs);
    }

    #[test]
    fn any_rings_end_without_a_panic(
        desc in proptest::collection::vec(any::<u8>(), 256),
        small in proptest::collection::vec((0_u64..0x20_0000, 0_u32..100, 0_u16..8, 0_u16..18), 16),
        avail in proptest::collection::vec(0_u8..20, 40),
        wild in any::<bool>(),
    ) {
        let (socket, theirs) = UnixStream::pair().expect("a pair");
        let memory = memory_file(BYTES);
        for ring in 0..2 {
            let place = ring_place(ring);
            memory.write_all_at(&desc, place.desc).expect("memory");
            for (n, (addr, len, flags, next)) in small.iter().enumerate().filter(|_| !wild) {
                let mut bytes = addr.to_le_bytes().to_vec();
                bytes.extend(len.to_le_bytes());
                bytes.extend(flags.to_le_bytes());
                bytes.extend(next.to_le_bytes());
                memory.write_all_at(&bytes, place.desc + 16 * n as u64).expect("memory");
            }
            memory.write_all_at(&avail, place.avail).expect("memory");
        }
        set_up(&socket, &memory);
        send(&socket, &message(35, 8, &state(0, 0)), &[]);
        let _ = socket.shutdown(Shutdown::Write);
        let _ = serve_to_end(theirs);
    }

    #[test]
    fn any_commands_end_without_a_panic(
        commands in proptest::collection::vec(some_command(), 1..15)
    ) {
        let (socket, theirs) = UnixStream::pair().expect("a pair");
        let memory = memory_file(BYTES);
        let place = ring_place(0);
        for (n, command) in commands.iter().enumerate() {
            let at = place.buffers + 0x100 * n as u64;
            memory.write_all_at(command, at).expect("memory");
            let mut bytes = (peer::BASE + at).to_le_bytes().to_vec();
            bytes.extend((command.len() as u32).to_le_bytes());
            bytes.extend([0; 4]);
            memory.write_all_at(&bytes, place.desc + 16 * n as u64).expect("memory");
            let slot = (n as u16).to_le_bytes();
            memory.write_all_at(&slot, place.avail + 4 + 2 * n as u64).expect("memory");
        }
        let count = (commands.len() as u16).to_le_bytes();
        memory.write_all_at(&count, place.avail + 2).expect("memory");
        set_up(&socket, &memory);
        send(&socket, &message(35, 8, &state(0, 0)), &[]);
        let _ = socket.shutdown(Shutdown::Write);
        let _ = serve_to_end(theirs);
    }
}
