package rpc

import (
	"net/http"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// inlet is what is known of a procedure before a call of it.
type inlet struct {
	procedure string
	limit     int // of a message, in bytes
	weight    int // of a decoded message
	// request is the type of its requests; nil for those of reflection, which are not weighed.
	request protoreflect.MessageDescriptor
	// unary is true for calls with one message on each side, streaming for those with several requests.
	unary, streaming bool
}

// inletsOf are those of the procedures of a service, by path.
func (l Limits) inletsOf(service string) map[string]inlet {
	if reflected["/"+service+"/"] {
		path := "/" + service + "/ServerReflectionInfo"
		return map[string]inlet{path: {procedure: path, limit: reflectionMessage, streaming: true}}
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	descriptor, ok := found.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil
	}
	inlets := map[string]inlet{}
	for i := range descriptor.Methods().Len() {
		method := descriptor.Methods().Get(i)
		path := "/" + service + "/" + string(method.Name())
		limit := l.message(path)
		inlets[path] = inlet{
			procedure: path, limit: limit, weight: l.weight(limit), request: method.Input(),
			streaming: method.IsStreamingClient(), unary: !method.IsStreamingClient() && !method.IsStreamingServer(),
		}
	}
	return inlets
}

// form is how the messages of a request are written.
type form struct {
	json   bool
	framed bool // each message has a prefix of five bytes: a flag and its length
	gzip   bool // of framed messages, those with the flag
}

// formOf reads the form of a request. It takes the compression out of the header when the intake will unpack it. Forms
// that it does not know are left to the handler, which refuses them before it reads anything.
func formOf(r *http.Request) (f form, known bool) {
	codec, ok := strings.CutPrefix(r.Header.Get("Content-Type"), "application/")
	if r.Method != http.MethodPost || !ok {
		return form{}, false
	}
	codec, _, _ = strings.Cut(codec, ";")
	codec = strings.ToLower(strings.TrimSpace(codec))
	encoding, accept := "Content-Encoding", "Accept-Encoding"
	if rest, ok := strings.CutPrefix(codec, "connect+"); ok {
		f.framed, codec, encoding, accept = true, rest, "Connect-Content-Encoding", "Connect-Accept-Encoding"
	} else if rest, ok := strings.CutPrefix(codec, "grpc"); ok {
		f.framed, codec, encoding, accept = true, strings.TrimPrefix(strings.TrimPrefix(rest, "-web"), "+"), "Grpc-Encoding", "Grpc-Accept-Encoding"
		if codec == "" {
			codec = "proto"
		}
	}
	f.json = codec == "json"
	switch r.Header.Get(encoding) {
	case "", "identity":
	case "gzip":
		f.gzip = true
		r.Header.Del(encoding)
		if r.Header.Get(accept) == "" { // Who sends gzip gets gzip.
			r.Header.Set(accept, "gzip")
		}
	default:
		return form{}, false
	}
	return f, f.json || codec == "proto"
}
