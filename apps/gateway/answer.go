package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// answer is the way to the client. It notes when and how an answer begins, and ends the request of a client that takes
// nothing of it.
type answer struct {
	http.ResponseWriter
	x      *exchange
	stall  time.Duration
	status int
	writes int
	until  time.Duration // the deadline of the client, in the time of the process
}

var (
	_ http.ResponseWriter = (*answer)(nil)
	_ http.Hijacker       = (*answer)(nil)
)

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	switch {
	case status < http.StatusOK && status != http.StatusSwitchingProtocols:
		a.x.localise(a.Header(), "")
	case a.status == 0:
		a.began(status)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) began(status int) {
	a.status = status
	a.x.app.load.answered(uptime() - a.x.began)
}

// Write implements http.ResponseWriter. The first write needs no deadline: it goes into a buffer.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.began(http.StatusOK)
	}
	now := uptime()
	if a.writes++; a.writes > 1 && a.until-now < a.stall/2 {
		a.until = now + a.stall
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.stall)) // those without have no slow clients
	}
	n, err := a.ResponseWriter.Write(p)
	a.x.touch()
	return n, err
}

// end takes the deadline away, since the connection may carry further requests.
func (a *answer) end() {
	if a.until != 0 {
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Time{})
	}
}

// Unwrap gives http.ResponseController the rest.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Hijack implements http.Hijacker, for WebSockets.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	a.began(http.StatusSwitchingProtocols)
	_ = conn.SetDeadline(time.Time{}) // a WebSocket may be silent
	return tunnel{conn}, buffers, nil
}

// tunnel is the client's side of a WebSocket. Most are silent most of the time, so it copies with small buffers, and takes a
// large one only while much comes at once.
type tunnel struct{ net.Conn }

var (
	_ io.ReaderFrom = tunnel{}
	_ io.WriterTo   = tunnel{}
)

const (
	smallBuffer = 1 << 10
	largeBuffer = 32 << 10
)

// ReadFrom implements io.ReaderFrom.
func (t tunnel) ReadFrom(from io.Reader) (int64, error) { return relay(t.Conn, from) }

// WriteTo implements io.WriterTo.
func (t tunnel) WriteTo(to io.Writer) (int64, error) { return relay(to, t.Conn) }

// CloseWrite passes on that one side has ended.
func (t tunnel) CloseWrite() error {
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func relay(to io.Writer, from io.Reader) (total int64, err error) {
	small := make([]byte, smallBuffer)
	var large *[]byte
	defer func() {
		if large != nil {
			largeBuffers.Put(large)
		}
	}()
	for {
		into := small
		if large != nil {
			into = *large
		}
		n, err := from.Read(into)
		if n > 0 {
			if _, err := to.Write(into[:n]); err != nil {
				return total, err
			}
			total += int64(n)
		}
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		case large == nil && n == len(small):
			large, _ = largeBuffers.Get().(*[]byte)
		case large != nil && n < len(small):
			largeBuffers.Put(large)
			large = nil
		}
	}
}

var largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}

// buffers is the pool in the form of the proxy.
type buffers struct{}

// Get implements httputil.BufferPool.
func (buffers) Get() []byte {
	b, _ := largeBuffers.Get().(*[]byte)
	return *b
}

// Put implements httputil.BufferPool.
func (buffers) Put(b []byte) { largeBuffers.Put(&b) }
