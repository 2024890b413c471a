package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/protoweight"
	"github.com/flyte-binary/flyte-binary/internal/wire/slowbody"
)

const (
	framePrefix = 5
	packedFlag  = 1
)

// messages is the body of a call as its handler reads it: the messages of the client, each received as a whole, unpacked
// and within the limits. Its errors have the code that the client gets.
type messages struct {
	intake   *intake
	inlet    inlet
	form     form
	source   io.ReadCloser
	declared int64 // length of the body; -1 if the client did not say
	header   http.Header
	pauser   pauser          // nil unless the client may be silent between messages
	ctx      context.Context //nolint:containedctx // that of the call, for waiting

	message *bytes.Buffer // what the handler has not read of the message yet, with its prefix; nil between messages
	end     error         // what the handler gets after it

	// What the message takes of each stage.
	arriving, unpacking, decoding int64
}

var _ io.ReadCloser = (*messages)(nil)

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for m.message == nil || m.message.Len() == 0 {
		m.drop()
		if m.end != nil {
			return 0, m.end
		}
		m.decoded() // Who asks for the next message has decoded the one before.
		if err := m.receive(); err != nil {
			m.drop()
			m.fail(err)
		}
	}
	return m.message.Read(p)
}

// drop releases the message.
func (m *messages) drop() {
	m.intake.keep(m.message)
	m.message = nil
}

// fail makes err the end of the body.
func (m *messages) fail(err error) {
	if errors.Is(err, io.EOF) {
		m.end = io.EOF
		return
	}
	switch {
	case errors.Is(err, slowbody.ErrTooSlow):
		err = DeadlineExceeded("%s", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = InvalidArgument("", "the body ends within a message")
	}
	var ours *Error
	if !errors.As(err, &ours) {
		m.end = err // The connection broke.
		return
	}
	// Other calls read within the chain, which counts what it answers.
	if m.inlet.unary {
		ctx := requestLog(m.ctx, m.intake.log, call{request: authz.Request{Procedure: m.inlet.procedure, Header: m.header}})
		m.intake.refusals.note(ctx, m.inlet.procedure, err)
	}
	m.end = toConnect(err)
}

// receive makes message the next message of the client, and ends with io.EOF if there is none.
func (m *messages) receive() error {
	packed, err := m.arrive()
	if err != nil {
		return err
	}
	if packed {
		if err := m.unpack(); err != nil {
			return err
		}
	}
	if err := m.weigh(m.message.Bytes()[m.prefix():]); err != nil {
		return err
	}
	if m.form.framed {
		head := m.message.Bytes()[:framePrefix]
		binary.BigEndian.PutUint32(head[1:], uint32(m.message.Len()-framePrefix)) //nolint:gosec // limits are smaller
	}
	return nil
}

// prefix is the length of what comes before a message.
func (m *messages) prefix() int {
	if m.form.framed {
		return framePrefix
	}
	return 0
}

// arrive reads a message, as the client sent it, into m.message.
func (m *messages) arrive() (packed bool, err error) {
	if !m.form.framed {
		return m.form.gzip, m.arriveWhole()
	}
	if m.pauser != nil {
		m.pauser.Pause()
	}
	var head [framePrefix]byte
	if _, err := io.ReadFull(m.source, head[:1]); err != nil {
		return false, err
	}
	if m.pauser != nil {
		m.pauser.Resume()
	}
	if _, err := io.ReadFull(m.source, head[1:]); err != nil {
		return false, early(err)
	}
	packed = head[0]&packedFlag != 0
	if packed && !m.form.gzip {
		return false, InvalidArgument("", "a message is marked as compressed, but the header of the request names no compression")
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	if size > int64(m.inlet.limit) {
		return false, m.tooLarge("has %d bytes", size)
	}
	m.message = m.intake.buffer()
	head[0] &^= packedFlag
	m.message.Write(head[:])
	if err := m.copy(size); err != nil {
		return false, early(err)
	}
	return packed, nil
}

// arriveWhole reads a body that is one message.
func (m *messages) arriveWhole() error {
	if m.declared > int64(m.inlet.limit) {
		return m.tooLarge("has %d bytes", m.declared)
	}
	m.message = m.intake.buffer()
	if err := m.copy(int64(m.inlet.limit) + 1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if m.message.Len() > m.inlet.limit {
		return m.tooLarge("has more")
	}
	m.end = io.EOF
	return nil
}

// copy appends the next n bytes to the message. Beyond the first of them, it takes what arrives from the stage in steps:
// a client that declares much and sends little takes little.
func (m *messages) copy(n int64) error {
	for n > 0 {
		step := min(n, freeBytes)
		copied, err := io.CopyN(m.message, m.source, step)
		if err != nil {
			return err
		}
		if n -= copied; n > 0 {
			taken, err := m.intake.arriving.take(m.ctx, step)
			m.arriving += taken
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// unpack replaces the message by what it unpacks to.
func (m *messages) unpack() error {
	prefix := m.prefix()
	packed := m.message
	defer m.intake.keep(packed)
	most := min(int64(m.inlet.limit), int64(packed.Len()-prefix)*maxRatio)
	var err error
	if m.unpacking, err = m.intake.unpacking.take(m.ctx, most); err != nil {
		m.message = nil
		return err
	}
	m.message = m.intake.buffer()
	m.message.Write(packed.Bytes()[:prefix])
	if err := m.intake.unpackers.unpack(m.message, packed.Bytes()[prefix:], m.inlet.limit); err != nil {
		return InvalidArgument("", "the message cannot be unpacked: %s", err)
	}
	size := m.message.Len() - prefix
	if size > m.inlet.limit {
		return m.tooLarge("unpacks to more")
	}
	if rest := m.unpacking - int64(size); rest > 0 {
		m.intake.unpacking.give(rest)
		m.unpacking -= rest
	}
	return nil
}

// weigh refuses a message that takes too much memory once it is decoded.
func (m *messages) weigh(body []byte) error {
	if len(body) <= lightMessage || m.inlet.request == nil {
		return nil
	}
	weigh := m.intake.types.Binary
	if m.form.json {
		weigh = m.intake.types.JSON
	}
	weight, err := weigh(body, m.inlet.request, m.inlet.weight)
	if err != nil {
		return InvalidArgument("", "messages may be nested %d deep", protoweight.MaxDepth)
	}
	if weight > m.inlet.weight {
		return ResourceExhausted("the message would take more than the %d bytes of memory that %s may: it has too many "+
			"fields and elements; send them in several calls, or store large values as files", m.inlet.weight, m.inlet.procedure)
	}
	m.decoding, err = m.intake.decoding.take(m.ctx, int64(weight))
	return err
}

func (m *messages) tooLarge(format string, args ...any) error {
	args = append(args, m.inlet.procedure, m.inlet.limit)
	return ResourceExhausted("the message "+format+", and %s takes at most %d bytes; store large values as files, or send less in a call", args...)
}

// decoded gives back what the message took. A second call does nothing.
func (m *messages) decoded() {
	m.intake.arriving.give(m.arriving)
	m.intake.unpacking.give(m.unpacking)
	m.intake.decoding.give(m.decoding)
	m.arriving, m.unpacking, m.decoding = 0, 0, 0
}

// Close implements io.Closer.
func (m *messages) Close() error { return m.source.Close() }

// early is the end of a body within a message.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
