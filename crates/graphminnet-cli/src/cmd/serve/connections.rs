//! Open connections: when there are too many, those go that have waited longest without a whole request.
//!
//! A client that sends a byte now and then holds a connection as long as it likes. If such connections were only counted,
//! a few hundred of them would keep everybody else out. Here a new connection always finds room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Connections that are open at the same time, at least.
const CONNECTIONS: usize = 512;

/// All open connections.
pub struct Connections {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Connections that wait for a request, by the time since when they do.
    waiting: BTreeMap<u64, Arc<Notify>>,
    /// Connections whose request is being worked on.
    working: usize,
    clock: u64,
}

/// One open connection; gone when dropped.
pub struct Connection {
    all: Arc<Connections>,
    /// Since when it waits; `None` while its request is being worked on.
    since: Mutex<Option<u64>>,
    leave: Arc<Notify>,
}

impl Connections {
    /// Room for connections of which up to `working` are worked on.
    pub fn new(working: usize) -> Arc<Self> {
        Arc::new(Self { most: CONNECTIONS.max(2 * working), open: Mutex::default() })
    }

    /// Takes a connection in; one that waits leaves if there are too many.
    pub fn enter(self: &Arc<Self>) -> Arc<Connection> {
        let leave = Arc::new(Notify::new());
        let since = self.open().wait(&leave);
        self.make_room();
        Arc::new(Connection { all: Arc::clone(self), since: Mutex::new(Some(since)), leave })
    }

    /// Sends away whoever has waited longest, as long as there are too many.
    fn make_room(&self) {
        let mut open = self.open();
        while open.waiting.len() + open.working > self.most
            && let Some((_, leave)) = open.waiting.pop_first()
        {
            leave.notify_one();
        }
    }

    /// Sends away whoever has waited longest: the system has no more connections to give.
    pub fn shrink(&self) {
        if let Some((_, leave)) = self.open().waiting.pop_first() {
            leave.notify_one();
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn wait(&mut self, leave: &Arc<Notify>) -> u64 {
        self.clock += 1;
        self.waiting.insert(self.clock, Arc::clone(leave));
        self.clock
    }
}

impl Connection {
    /// Ends when the connection has to make room.
    pub async fn must_leave(&self) {
        self.leave.notified().await;
    }

    /// Its request is whole; until the result is dropped, the connection stays.
    pub fn work(&self) -> Working<'_> {
        let mut open = self.all.open();
        if let Some(since) = self.since().take() {
            open.waiting.remove(&since);
            open.working += 1;
        }
        Working(self)
    }

    fn since(&self) -> MutexGuard<'_, Option<u64>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let since = self.since().take();
        if let Some(since) = since {
            self.all.open().waiting.remove(&since);
        }
    }
}

/// The request of a connection is being worked on.
pub struct Working<'a>(&'a Connection);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut open = self.0.all.open();
        open.working = open.working.saturating_sub(1);
        *self.0.since() = Some(open.wait(&self.0.leave));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    fn has_left(connection: &Connection) -> bool {
        let mut leave = std::pin::pin!(connection.must_leave());
        leave.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn whoever_has_waited_longest_makes_room_and_work_is_left_alone() {
        let all = Connections::new(10);
        let mut open: Vec<_> = (0..CONNECTIONS).map(|_| all.enter()).collect();
        let at_work = open[0].work();
        // The second had an answer meanwhile, so it has waited for the shortest time.
        drop(open[1].work());
        let new = all.enter();
        assert!(has_left(&open[2]), "the first that waits");
        assert!(!has_left(&open[0]) && !has_left(&open[1]) && !has_left(&open[3]) && !has_left(&new));
        drop(at_work);
        all.shrink();
        assert!(has_left(&open[3]));
        // Those that are gone leave no trace, whether they left by themselves or not.
        open.clear();
        drop(new);
        let left = all.open();
        assert_eq!((left.waiting.len(), left.working), (0, 0));
    }
}
