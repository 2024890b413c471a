package rpc

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// unpackers are kept between messages: each has tables of some ten kilobytes.
type unpackers struct{ pool sync.Pool }

// unpack appends at most limit+1 bytes of the unpacked body to to. What follows is not looked at.
func (u *unpackers) unpack(to *bytes.Buffer, body []byte, limit int) error {
	reader, ok := u.pool.Get().(*gzip.Reader)
	if !ok {
		reader = new(gzip.Reader)
	}
	defer u.pool.Put(reader)
	if err := reader.Reset(bytes.NewReader(body)); err != nil {
		return err
	}
	_, err := to.ReadFrom(io.LimitReader(reader, int64(limit)+1))
	return err
}
