package gateway

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// closing is a body of the server: its last bytes come with the end, and the server closes it when the answer begins.
type closing struct {
	text   string
	closed bool
}

// Read implements io.Reader.
func (c *closing) Read(p []byte) (int, error) {
	if c.closed {
		return 0, errors.New("read after close")
	}
	n := copy(p, c.text)
	if c.text = c.text[n:]; c.text == "" {
		return n, io.EOF
	}
	return n, nil
}

// TestAWholeBodyIsReadNoFurther: the reader may read on after the last byte, although the server has closed the body meanwhile.
func TestAWholeBodyIsReadNoFurther(t *testing.T) {
	source := &closing{text: "hello"}
	b := &body{source: source, moved: func() {}, ended: func() {}}
	reader, err := b.open()
	require.NoError(t, err)
	part := make([]byte, 3)
	_, err = io.ReadFull(reader, part)
	require.NoError(t, err)
	require.False(t, b.whole())
	n, _ := reader.Read(part)
	require.Equal(t, "lo", string(part[:n]))
	require.True(t, b.whole())
	source.closed = true
	_, err = reader.Read(part)
	require.Equal(t, io.EOF, err)

	again, err := b.open()
	require.NoError(t, err)
	text, err := io.ReadAll(again)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text), "another replica gets it from the beginning")
}
