package rpcfuzz

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Config says what to attack.
type Config struct {
	// URL is the server's.
	URL string
	// Header is sent with every request.
	Header http.Header
	// Words are names that exist in the server.
	Words []string
	// Seed determines the requests.
	Seed uint64
	// Deadline of each call; a stream is read until then. Default 2 s.
	Deadline time.Duration
	// Services have one of these prefixes.
	Services []string
}

// Fuzzer sends one request after the other.
type Fuzzer struct {
	config  Config
	gen     generator
	methods []protoreflect.MethodDescriptor
	client  *http.Client
}

// Report counts the answers by code.
type Report map[string]int

// New returns a fuzzer of the services whose Go packages are linked into the program. Close ends it.
func New(config Config) *Fuzzer {
	if config.Deadline == 0 {
		config.Deadline = 2 * time.Second
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true) // streams in both directions need it
	f := &Fuzzer{
		config: config, client: &http.Client{Transport: &http.Transport{Protocols: protocols}},
		gen: generator{Rand: rand.New(rand.NewPCG(config.Seed, 0xf022)), words: config.Words}, //nolint:gosec // a seed repeats the requests
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			if slices.ContainsFunc(config.Services, func(prefix string) bool { return strings.HasPrefix(string(service.FullName()), prefix) }) {
				for j := range service.Methods().Len() {
					f.methods = append(f.methods, service.Methods().Get(j))
				}
			}
		}
		return true
	})
	slices.SortFunc(f.methods, func(a, b protoreflect.MethodDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return f
}

// Close closes the connections of the fuzzer.
func (f *Fuzzer) Close() { f.client.CloseIdleConnections() }

// Methods is how many rpcs the fuzzer calls in turn.
func (f *Fuzzer) Methods() int { return len(f.methods) }

// Run sends requests, to each method in turn, and stops at the first answer that no request may get. It ends in good
// order after n requests, or when the context ends.
func (f *Fuzzer) Run(ctx context.Context, n int) (Report, error) {
	report := Report{}
	for i := range n {
		select {
		case <-ctx.Done():
			return report, nil
		default:
		}
		method := f.methods[i%len(f.methods)]
		call := f.draw(method)
		code, err := f.send(ctx, call)
		if err != nil && ctx.Err() == nil {
			return report, fmt.Errorf("request %d of seed %d: %s: %w\n%s", i, f.config.Seed, method.FullName(), err, call)
		}
		report[code]++
	}
	return report, nil
}

// call is a request.
type call struct {
	procedure   string
	contentType string
	body        []byte
	text        string // the message before it was damaged
}

func (c call) String() string { return fmt.Sprintf("%s %q\n%s", c.contentType, c.body, c.text) }

func (f *Fuzzer) draw(method protoreflect.MethodDescriptor) call {
	message := f.gen.request(method.Input())
	c := call{procedure: fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())}
	format := "proto"
	var err error
	if f.gen.IntN(3) == 0 {
		format = "json"
		c.body, err = protojson.Marshal(message)
	} else {
		c.body, err = proto.Marshal(message)
	}
	if err != nil { // some values have no JSON
		c.body = f.gen.blob()
	}
	c.text = fmt.Sprint(message)
	if f.gen.IntN(4) == 0 {
		c.body = f.gen.damage(c.body)
	}
	c.contentType = "application/" + format
	if method.IsStreamingClient() || method.IsStreamingServer() {
		c.contentType = "application/connect+" + format
		c.body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(c.body))), c.body...) //nolint:gosec // small
	}
	return c
}

// send sends a request and returns the code of the answer, or an error for an answer that is a defect.
func (f *Fuzzer) send(ctx context.Context, c call) (string, error) {
	// The server gets the deadline; the client waits far longer, so that only a server that ignores it is cut off.
	ctx, cancel := context.WithTimeoutCause(ctx, f.config.Deadline+time.Minute, errors.New("no answer within the deadline"))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.config.URL+c.procedure, bytes.NewReader(c.body))
	if err != nil {
		return "", err
	}
	request.Header = f.config.Header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("Content-Type", c.contentType)
	request.Header.Set("Connect-Protocol-Version", "1")
	request.Header.Set("Connect-Timeout-Ms", strconv.FormatInt(f.config.Deadline.Milliseconds(), 10))
	response, err := f.client.Do(request)
	if err != nil {
		return "", errors.Join(err, context.Cause(ctx))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return "", errors.Join(err, context.Cause(ctx))
	}
	code := codeOf(response, body)
	switch code {
	case connect.CodeInternal.String(), connect.CodeUnknown.String(), connect.CodeDataLoss.String(), "":
		return code, fmt.Errorf("answered %s: %s", response.Status, last(body))
	}
	return code, nil
}

// codeOf is the Connect code of an answer, "ok" for a success, and empty for what is not an answer of a Connect server.
func codeOf(response *http.Response, body []byte) string {
	var failure struct {
		Code  string
		Error *struct{ Code string }
	}
	kind := response.Header.Get("Content-Type")
	switch {
	case response.StatusCode == http.StatusOK && !strings.HasPrefix(kind, "application/connect+"):
		return "ok"
	case response.StatusCode == http.StatusOK: // the last envelope has the end of the stream
		if json.Unmarshal(last(body), &failure) != nil {
			return ""
		}
		if failure.Error == nil {
			return "ok"
		}
		return failure.Error.Code
	case response.StatusCode == http.StatusUnsupportedMediaType, response.StatusCode == http.StatusNotFound && !strings.HasPrefix(kind, "application/json"):
		return response.Status // of a service that is not served
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	return failure.Code
}

// last is the message in the last envelope of a stream, or the body when it has none.
func last(body []byte) []byte {
	message := body
	for len(body) >= 5 {
		size := int(binary.BigEndian.Uint32(body[1:5]))
		if body[0] > 3 || len(body)-5 < size {
			return message
		}
		message, body = body[5:5+size], body[5+size:]
	}
	return message
}
