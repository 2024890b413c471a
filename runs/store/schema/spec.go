package schema

import (
	"crypto/sha256"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// EncodeSpec encodes a message for the specs table and computes its key: SHA-256 of the kind and the deterministic
// encoding, so that equal messages are stored once.
func EncodeSpec(kind SpecKind, message proto.Message) (digest, body []byte, err error) {
	body, err = proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", message.ProtoReflect().Descriptor().Name(), err)
	}
	return SpecDigest(kind, body), body, nil
}

// SpecDigest is the key of an encoded spec.
func SpecDigest(kind SpecKind, body []byte) []byte {
	hash := sha256.New()
	hash.Write([]byte{byte(kind)}) //nolint:gosec // few kinds
	hash.Write(body)
	return hash.Sum(nil)
}
