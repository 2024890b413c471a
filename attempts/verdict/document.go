package verdict

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

const (
	// maxErrorRead is how much of a large error document is read, in bytes.
	maxErrorRead = 256 << 20
	// maxCode is how long an error's code may be, in bytes.
	maxCode = 1 << 10
	// keptEnd is how much is kept of the beginning and of the end of a large message, in bytes.
	keptEnd = 16 << 10
)

var errNoDocument = errors.New("not an error document")

// readLarge reads an error document of any size without holding it: of its message, the beginning and the end are kept. What the
// document says after maxErrorRead bytes is unknown; the task may be retried then.
func readLarge(body io.Reader) (*core.ContainerError, error) {
	var found *core.ContainerError
	limited := &io.LimitedReader{R: body, N: maxErrorRead}
	err := eachField(bufio.NewReaderSize(limited, 64<<10), func(number uint64, value io.Reader, _ uint64) error {
		if number != 1 || value == nil {
			return nil
		}
		found = &core.ContainerError{Kind: core.ContainerError_RECOVERABLE}
		return readError(found, value)
	})
	switch {
	case found == nil && err == nil:
		return nil, errNoDocument
	case err != nil && found != nil && limited.N <= 0:
		return found, nil // the rest is beyond what is read
	}
	return found, err
}

func readError(into *core.ContainerError, from io.Reader) error {
	return eachField(bufio.NewReader(from), func(number uint64, value io.Reader, varint uint64) (err error) {
		switch {
		case number == 1 && value != nil:
			into.Code, err = readEnds(value, maxCode)
		case number == 2 && value != nil:
			into.Message, err = readEnds(value, keptEnd)
			into.Kind = core.ContainerError_NON_RECOVERABLE // the default of the field, which follows
		case number == 3 && value == nil:
			into.Kind = core.ContainerError_Kind(varint) //nolint:gosec // unknown values are kept, as the decoder does
		case number == 4 && value == nil:
			into.Origin = core.ExecutionError_ErrorKind(varint) //nolint:gosec // as above
		}
		return err
	})
}

// eachField visits the fields of an encoded message: of a field with a length, a reader of its value, of which the visitor may leave
// some; of others, the number.
func eachField(from *bufio.Reader, visit func(number uint64, value io.Reader, varint uint64) error) error {
	for {
		tag, err := binary.ReadUvarint(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var varint uint64
		var value *io.LimitedReader
		switch tag & 7 {
		case 0:
			varint, err = binary.ReadUvarint(from)
		case 1:
			_, err = from.Discard(8)
		case 2:
			var size uint64
			if size, err = binary.ReadUvarint(from); err == nil && size > 1<<40 {
				err = errNoDocument
			}
			value = &io.LimitedReader{R: from, N: int64(size)} //nolint:gosec // checked above
		case 5:
			_, err = from.Discard(4)
		default:
			err = errNoDocument
		}
		if err != nil {
			return unexpected(err)
		}
		if value == nil {
			err = visit(tag>>3, nil, varint)
		} else if err = visit(tag>>3, value, 0); err == nil {
			_, err = io.Copy(io.Discard, value)
			if err == nil && value.N > 0 {
				err = io.ErrUnexpectedEOF
			}
		}
		if err != nil {
			return err
		}
	}
}

// unexpected is the error of a message that ends within a field.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readEnds reads a text and keeps at most limit bytes of its beginning, and as many of its end.
func readEnds(from io.Reader, limit int) (string, error) {
	head, err := io.ReadAll(io.LimitReader(from, int64(limit)))
	if err != nil || len(head) < limit {
		return string(head), err
	}
	var tail []byte
	cut, part := false, make([]byte, 64<<10)
	for {
		n, err := from.Read(part)
		tail = append(tail, part[:n]...)
		if len(tail) > limit {
			cut, tail = true, append(tail[:0], tail[len(tail)-limit:]...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return string(head), err
		}
	}
	if cut {
		head = append(head, "\n[...]\n"...)
	}
	return string(head) + string(tail), nil
}
