package memhttp

import (
	"io"
	"sync"
)

// bufferLimit is how many bytes may be in flight in one direction, as in a socket's buffers. Without a buffer, two sides
// that both send before they receive would deadlock.
const bufferLimit = 256 << 10

// buffer is a pipe that holds some bytes. Writers wait while it is full, readers while it is empty.
type buffer struct {
	unbounded bool // never full; set before the first write

	mu      sync.Mutex
	changed sync.Cond // on mu
	data    []byte    // GUARDED_BY(mu)
	end     error     // GUARDED_BY(mu): what readers get after the data; set by the writer
	refused error     // GUARDED_BY(mu): what writers get; set by the reader
}

func newBuffer() *buffer {
	b := &buffer{}
	b.changed.L = &b.mu
	return b
}

// Read implements io.Reader.
func (b *buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && b.end == nil && b.refused == nil {
		b.changed.Wait()
	}
	if b.refused != nil {
		return 0, b.refused
	}
	if len(b.data) == 0 {
		return 0, b.end
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	if len(b.data) == 0 {
		b.data = nil // release the array: streams are mostly idle
	}
	b.changed.Broadcast()
	return n, nil
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	written := 0
	for len(p) > 0 {
		for !b.unbounded && len(b.data) >= bufferLimit && b.end == nil && b.refused == nil {
			b.changed.Wait()
		}
		if b.refused != nil {
			return written, b.refused
		}
		if b.end != nil {
			return written, io.ErrClosedPipe
		}
		n := len(p)
		if !b.unbounded {
			n = min(n, bufferLimit-len(b.data))
		}
		b.data = append(b.data, p[:n]...)
		p, written = p[n:], written+n
		b.changed.Broadcast()
	}
	return written, nil
}

// finish ends the stream; readers see the rest, then err. Only the first call counts.
func (b *buffer) finish(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end == nil {
		b.end = err
	}
	b.changed.Broadcast()
}

// refuse drops what is buffered and fails both sides with err. Only the first call counts.
func (b *buffer) refuse(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused == nil {
		b.refused = err
		b.data = nil
	}
	b.changed.Broadcast()
}
