// Package proxy stands between a client and a server and breaks the traffic: it cuts connections, leaves them half
// open, slows them down, and refuses API requests. It stands below the fault suite and knows nothing of the product.
package proxy

import (
	"io"
	"net"
	"sync"
	"time"
)

// TCP forwards connections from a port of its own to an address.
type TCP struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{} // GUARDED_BY(mu)
	refuses bool               // GUARDED_BY(mu)
	delay   time.Duration      // GUARDED_BY(mu): per piece that is forwarded
	held    [2]chan struct{}   // GUARDED_BY(mu): by direction; closed when data pass again, nil while they do
	forgets bool               // GUARDED_BY(mu): connections are cut when the server answers
	closed  bool               // GUARDED_BY(mu)
}

// link is one connection with its other half.
type link struct {
	near, far net.Conn
	mu        sync.Mutex
	flows     chan struct{} // GUARDED_BY(mu): closed while data flow
	gone      chan struct{}
	once      sync.Once
}

// NewTCP listens on a free port of the loopback.
func NewTCP(target string) (*TCP, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
	if err != nil {
		return nil, err
	}
	p := &TCP{listener: listener, target: target, links: map[*link]struct{}{}}
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *TCP) Addr() string { return p.listener.Addr().String() }

// Close cuts everything and waits.
func (p *TCP) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.Cut()
	p.work.Wait()
}

// Cut resets all connections.
func (p *TCP) Cut() {
	for _, l := range p.all() {
		l.cut()
	}
}

// Freeze leaves existing connections half open: nothing passes and neither side notices. New ones work.
func (p *TCP) Freeze() {
	for _, l := range p.all() {
		l.mu.Lock()
		select {
		case <-l.flows:
			l.flows = make(chan struct{})
		default:
		}
		l.mu.Unlock()
	}
}

// Thaw resumes frozen connections.
func (p *TCP) Thaw() {
	for _, l := range p.all() {
		l.mu.Lock()
		select {
		case <-l.flows:
		default:
			close(l.flows)
		}
		l.mu.Unlock()
	}
}

// DropFrozen resets what is still half open, as a firewall does eventually.
func (p *TCP) DropFrozen() {
	for _, l := range p.all() {
		select {
		case <-l.flowing():
		default:
			l.cut()
		}
	}
}

// Refuse closes new connections at once, or stops doing so.
func (p *TCP) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = on
}

// Slow delays each piece of data that is forwarded; 0 lets them flow again.
func (p *TCP) Slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// The directions.
const (
	Requests = iota // from clients
	Answers         // from the server
)

// Hold lets nothing pass in one direction, as a network that works one way only, or lets it pass again.
func (p *TCP) Hold(direction int, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch held := p.held[direction]; {
	case on && held == nil:
		p.held[direction] = make(chan struct{})
	case !on && held != nil:
		close(held)
		p.held[direction] = nil
	}
}

// Forget cuts each connection when the server answers on it, or stops doing so: requests arrive, and their clients do not learn of it.
func (p *TCP) Forget(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgets = on
}

// passes waits while a direction is held; false means that the connection is gone.
func (p *TCP) passes(l *link, direction int) bool {
	p.mu.Lock()
	held, forgets := p.held[direction], p.forgets && direction == Answers
	p.mu.Unlock()
	if forgets {
		l.cut()
		return false
	}
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-l.gone:
		return false
	}
}

func (p *TCP) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	return links
}

func (p *TCP) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuses := p.refuses || p.closed
		p.mu.Unlock()
		if refuses {
			reset(conn)
			continue
		}
		p.work.Go(func() { p.serve(conn) })
	}
}

func (p *TCP) serve(near net.Conn) {
	far, err := net.DialTimeout("tcp", p.target, 5*time.Second) //nolint:noctx // bounded
	if err != nil {
		reset(near)
		return
	}
	l := &link{near: near, far: far, flows: make(chan struct{}), gone: make(chan struct{})}
	close(l.flows)
	p.mu.Lock()
	p.links[l] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		l.cut()
	}
	var both sync.WaitGroup
	both.Go(func() { p.copy(l, far, near, Requests) })
	both.Go(func() { p.copy(l, near, far, Answers) })
	both.Wait()
	l.cut()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// copy moves data one way, piece by piece. When one side ends, so does the other.
func (p *TCP) copy(l *link, to, from net.Conn, direction int) {
	defer l.end()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.passes(l, direction) && l.pass(p.pace()) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF { //nolint:errorlint // Read gives it bare
				l.cut()
			}
			return
		}
	}
}

func (p *TCP) pace() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

func (l *link) flowing() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flows
}

// pass waits until data may flow; false means that the connection is gone.
func (l *link) pass(delay time.Duration) bool {
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.gone:
			return false
		}
	}
	for {
		flows := l.flowing()
		select {
		case <-flows:
			if flows == l.flowing() {
				return true
			}
		case <-l.gone:
			return false
		}
	}
}

// end closes both halves after what was read is written, unless the connection is frozen: then neither side notices.
func (l *link) end() {
	select {
	case <-l.flowing():
	case <-l.gone:
	}
	l.once.Do(func() {
		close(l.gone)
		l.near.Close()
		l.far.Close()
	})
}

func (l *link) cut() {
	l.once.Do(func() {
		close(l.gone)
		reset(l.near)
		reset(l.far)
	})
}

// reset ends a connection with an error at the other side.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed
	}
	conn.Close()
}
