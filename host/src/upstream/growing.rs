//! Bytes that only grow, and a request's body made of them without a copy.
//!
//! A conversation of four hundred turns is megabytes long. Copying it for every turn would cost
//! more than everything else the client does, so it is kept in pieces that bodies share; only the
//! last, unfinished piece is copied.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serde::Serialize;

/// When a piece is finished. A few of these fill what a socket takes at once.
const PIECE_BYTES: usize = 64 << 10;

/// JSON values joined by commas. Nothing is taken out or changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Growing {
    finished: Vec<Bytes>,
    last: Vec<u8>,
    len: usize,
}

impl Growing {
    /// Appends a value.
    pub(super) fn push(&mut self, value: &impl Serialize) {
        let before = self.last.len();
        if self.len > 0 {
            self.last.push(b',');
        }
        json(value, &mut self.last);
        self.len += self.last.len() - before;
        if self.last.len() >= PIECE_BYTES {
            self.finished.push(Bytes::copy_from_slice(&self.last));
            self.last.clear();
        }
    }

    /// Size of everything.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// `head`, everything, `tail`.
    pub(super) fn between(&self, head: Vec<u8>, tail: &[u8]) -> Body {
        let last = [&self.last, tail].concat();
        let mut pieces = VecDeque::with_capacity(self.finished.len() + 2);
        let mut left = 0;
        for piece in
            [head.into()].into_iter().chain(self.finished.iter().cloned()).chain([last.into()])
        {
            left += piece.len() as u64;
            pieces.push_back(piece);
        }
        Body { pieces, left }
    }
}

/// Writes `value` as JSON.
pub(super) fn json(value: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value)
        .expect("text and maps with text keys always become JSON in memory");
}

/// A request's body. Its length is known, since some servers refuse one that comes in chunks.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pieces: VecDeque<Bytes>,
    left: u64,
}

#[cfg(test)]
impl Body {
    pub(super) fn to_vec(&self) -> Vec<u8> {
        self.pieces.iter().flatten().copied().collect()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, Bytes::len) as u64;
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
