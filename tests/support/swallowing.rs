//! An address that takes no connection and does not say so: packets to it are swallowed.

use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};

/// A listener whose queue is full: the kernel drops what comes.
#[derive(Debug)]
pub struct Swallowing {
    pub address: SocketAddr,
    _listener: Socket,
    _queued: Vec<Socket>,
}

impl Swallowing {
    pub fn start() -> Self {
        let new = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let listener = new();
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let queued = (0..4).map(|_| {
            let socket = new();
            socket.set_nonblocking(true).unwrap();
            // It is under way, or it is what fills the queue.
            let _ = socket.connect(&address.into());
            socket
        });
        let queued = queued.collect();
        // The kernel takes a moment to fill the queue.
        std::thread::sleep(std::time::Duration::from_millis(50));
        Self { address, _listener: listener, _queued: queued }
    }
}
