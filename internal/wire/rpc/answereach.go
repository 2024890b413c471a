package rpc

import (
	"errors"
	"io"

	"connectrpc.com/connect"
)

// AnswerEach answers the requests of a stream one after the other until the client is done. An error of answer ends the
// stream.
func AnswerEach[Request, Response any](
	stream *connect.BidiStream[Request, Response], answer func(*Request) (*Response, error),
) error {
	for {
		request, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		response, err := answer(request)
		if err != nil {
			return err
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}
