use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::AtomicUsize;

use super::*;
use tokio::net::TcpListener;

const SECOND: Duration = Duration::from_secs(1);
const PATIENCE: Patience = Patience { response: SECOND, idle: SECOND, body: SECOND };

fn dial(host: &str, port: u16, resolver: Resolver) -> Dial {
    Dial { host: Host::new(host, resolver), port, tls: None, limit: SECOND, patience: PATIENCE }
}

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn both(_: &str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>> {
    Box::pin(async { Ok(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]) })
}

/// Addresses that nobody has (RFC 5737), so that nothing answers, and then this machine.
fn nobody_first(_: &str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>> {
    let nobody = |last| IpAddr::from([192, 0, 2, last]);
    Box::pin(async move { Ok(vec![nobody(1), nobody(2), Ipv4Addr::LOCALHOST.into()]) })
}

fn nothing(_: &str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>> {
    Box::pin(async { Ok(vec![]) })
}

fn broken(_: &str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>> {
    Box::pin(async { Err(io::Error::other("the resolver is ill")) })
}

fn never(_: &str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>> {
    Box::pin(std::future::pending())
}

#[tokio::test]
async fn every_address_of_a_name_is_tried() {
    let (_listener, port) = listener().await;
    for resolver in [both as Resolver, nobody_first] {
        dial("server.example", port, resolver).connect().await.unwrap();
    }
}

#[tokio::test]
async fn why_a_connection_could_not_be_made() {
    let (listener, port) = listener().await;
    drop(listener);
    for (host, resolver, label, words) in [
        ("127.0.0.1", never as Resolver, "refused", format!("127.0.0.1:{port} refused the connection")),
        ("server.example", both, "refused", "refused the connection".into()),
        ("server.example", nothing, "name", "the name server.example was not found: it has no address".into()),
        ("server.example", broken, "name", "the name server.example was not found: the resolver is ill".into()),
        ("server.example", never, "timed_out", "no connection within 1s".into()),
    ] {
        let error = dial(host, port, resolver).connect().await.unwrap_err();
        assert_eq!(error.label(), label, "{error}");
        assert!(error.to_string().contains(&words), "{error}");
        assert!(DialError::LABELS.contains(&error.label()));
    }
}

static LOOK_UPS: AtomicUsize = AtomicUsize::new(0);

/// Answers once, and is ill from then on.
fn once(_: &str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>> {
    Box::pin(async {
        match LOOK_UPS.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            _ => Err(io::Error::other("ill")),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_name_is_looked_up_again_as_it_ages_and_a_resolver_that_fails_takes_nothing_down() {
    let host = Host::new("server.example", once);
    let expected = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
    for _ in 0..3 {
        assert_eq!(host.addresses().await.unwrap(), expected);
    }
    assert_eq!(LOOK_UPS.load(Ordering::SeqCst), 1);
    for look_ups in 2..5 {
        tokio::time::advance(RESOLVED_FOR).await;
        for _ in 0..3 {
            assert_eq!(host.addresses().await.unwrap(), expected);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(LOOK_UPS.load(Ordering::SeqCst), look_ups, "once, however many ask");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_staggered_and_the_first_to_succeed_wins() {
    /// (delay in ms, whether it succeeds) of each attempt → (winner, at what time, failures).
    type Case = (&'static [(u64, bool)], Option<usize>, u64, usize);
    let cases: [Case; 7] = [
        (&[(10, true), (10, true)], Some(0), 10, 0),
        (&[(10, false), (10, true)], Some(1), 20, 1),
        (&[(9_999, true), (10, true)], Some(1), 260, 0),
        (&[(300, true), (100, true)], Some(0), 300, 0),
        (&[(300, false), (100, false), (5, true)], Some(2), 305, 1),
        (&[(10, false), (10, false)], None, 20, 2),
        (&[], None, 0, 0),
    ];
    for (attempts, winner, at, failures) in cases {
        let start = Instant::now();
        let (mut waiting, mut failed) = (attempts.iter().enumerate(), 0);
        let next = || {
            waiting.next().map(|(index, (delay, succeeds))| async move {
                tokio::time::sleep(Duration::from_millis(*delay)).await;
                if *succeeds { Ok(index) } else { Err(()) }
            })
        };
        assert_eq!(staggered(next, |()| failed += 1).await, winner, "{attempts:?}");
        let elapsed = u64::try_from(start.elapsed().as_millis()).unwrap();
        assert!(elapsed.abs_diff(at) <= 3 && failed >= failures.min(1), "{attempts:?}: {elapsed} ms, {failed} failed");
    }
}
