package links

import (
	"encoding/base64"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// note is a notification between replicas of the API: an order for a link, or that batches of a log are in the table. Its text has the
// log, the link and the order, with spaces between them.
type note struct {
	tail, link string
	order      *clustersv1.TailOrder
}

// maxNote is the longest text that Postgres passes on, less some room.
const maxNote = 7000

// notice is the request of an order as notes have it.
func notice(r *enginev1.TailContainerRequest) ([]byte, error) {
	body, err := proto.Marshal(r)
	if err != nil {
		return nil, rpc.Internal(err, "write the order")
	}
	if base64.StdEncoding.EncodedLen(len(body)) > maxNote {
		return nil, rpc.InvalidArgument("request", "its names are too long")
	}
	return body, nil
}

// encode is the text of a note; request is that of an order.
func (n note) encode(request []byte) string {
	return n.tail + " " + n.link + " " + base64.StdEncoding.EncodeToString(request)
}

func decode(text string) (note, error) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return note{}, fmt.Errorf("it has %d parts instead of three", len(parts))
	}
	n := note{tail: parts[0], link: parts[1]}
	if n.link == "" {
		return n, nil
	}
	body, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return note{}, fmt.Errorf("read its order: %w", err)
	}
	n.order = &clustersv1.TailOrder{Tail: n.tail, Request: &enginev1.TailContainerRequest{}}
	if err := proto.Unmarshal(body, n.order.GetRequest()); err != nil {
		return note{}, fmt.Errorf("read its order: %w", err)
	}
	return n, nil
}
