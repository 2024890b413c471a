package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// request is a message to a server of runner.py.
type request struct {
	Do      string            `json:"do"`
	Request int64             `json:"request"`
	Dir     string            `json:"dir,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// report is a message of one. The fields say what has happened to the request of that number.
type report struct {
	Unfit string    `json:"unfit"`
	Read  *[]string `json:"read"` // the server is ready; its imports have read these variables
	// The arguments that the import of the code has read, by their index, and whether it has read how many there are.
	Arguments []int   `json:"arguments"`
	Count     bool    `json:"count"`
	Forked    int64   `json:"forked"`
	Started   int64   `json:"started"`
	PID       int     `json:"pid"`
	Refused   int64   `json:"refused"`
	Why       string  `json:"why"`
	Ended     int64   `json:"ended"`
	Exited    bool    `json:"exited"`
	Code      int     `json:"code"` // the exit code, or the signal
	Reaped    int64   `json:"reaped"`
	CPU       float64 `json:"cpu"` // seconds
}

// request is the number of the request that the report is about; 0 for a report about the server itself.
func (r report) request() int64 { return max(r.Forked, r.Started, r.Refused, r.Ended, r.Reaped) }

// control is the socket to a server.
type control struct {
	conn *net.UnixConn

	mu      sync.Mutex
	last    int64                 // GUARDED_BY(mu)
	waiting map[int64]chan report // GUARDED_BY(mu): by request
	gone    chan struct{}         // closed when the server hung up
	ready   chan report           // the report that is of no request
}

var errServerGone = errors.New("the server of the Python environment has ended")

func newControl(conn *net.UnixConn) *control {
	c := &control{conn: conn, waiting: map[int64]chan report{}, gone: make(chan struct{}), ready: make(chan report, 1)}
	go c.read()
	return c
}

// read hands each report to the sender of its request, until the server hangs up. A message that cannot be parsed ends the
// connection: what follows it would be read at the wrong place.
func (c *control) read() {
	defer close(c.gone)
	for {
		var head [4]byte
		if _, err := io.ReadFull(c.conn, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(c.conn, body); err != nil {
			return
		}
		var r report
		if err := json.Unmarshal(body, &r); err != nil {
			return
		}
		if r.request() == 0 {
			select {
			case c.ready <- r:
			default:
			}
			continue
		}
		c.mu.Lock()
		to := c.waiting[r.request()]
		c.mu.Unlock()
		if to != nil {
			to <- r // its buffer has room for all reports of a request
		}
	}
}

// send sends a request with files. The channel gets all reports about it; nothing comes after gone is closed.
func (c *control) send(r request, files ...*os.File) (number int64, reports <-chan report, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	r.Request = c.last
	to := make(chan report, 8)
	c.waiting[c.last] = to
	return c.last, to, c.write(r, files)
}

// tell sends a request about an earlier one, which has no reports of its own.
func (c *control) tell(do string, number int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(request{Do: do, Request: number}, nil)
}

// forget drops the channel of a request.
func (c *control) forget(number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, number)
}

// write sends a message, with the lock held. The files travel with the four bytes of the length: the receiver reads
// these with recvmsg, and the body as a stream.
func (c *control) write(r request, files []*os.File) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a request: %w", err)
	}
	var rights []byte
	if len(files) > 0 {
		numbers := make([]int, len(files))
		for i, file := range files {
			numbers[i] = int(file.Fd())
		}
		rights = syscall.UnixRights(numbers...)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body))) //nolint:gosec // far below 4 GiB
	if _, _, err := c.conn.WriteMsgUnix(head, rights, nil); err != nil {
		return errors.Join(errServerGone, err)
	}
	if _, err := c.conn.Write(body); err != nil {
		return errors.Join(errServerGone, err)
	}
	return nil
}
