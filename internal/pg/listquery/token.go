package listquery

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// A token is base64url of: version, 8 bytes of the query's fingerprint, then the sort values of the last row shown,
// each prefixed with its length.
const (
	tokenVersion    = 1
	fingerprintSize = 8
	maxToken        = 8 << 10
)

var errToken = errors.New("invalid page token")

type fingerprint [fingerprintSize]byte

// fingerprintOf hashes what must not change between two pages: the scope, the filters and the order. The limit may
// change.
func fingerprintOf(scope []string, filters []*common.Filter, order []Order) fingerprint {
	hash := sha256.New()
	write := func(text string) {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(text))) //nolint:gosec // a message has a limit
		hash.Write(size[:])
		hash.Write([]byte(text))
	}
	section := func(name string, count int) {
		write(name)
		hash.Write(binary.BigEndian.AppendUint32(nil, uint32(count))) //nolint:gosec // few keys
	}
	section("scope", len(scope))
	for _, part := range scope {
		write(part)
	}
	section("filters", len(filters))
	for _, filter := range filters {
		write(filter.GetFunction().String())
		write(filter.GetField())
		section("values", len(filter.GetValues()))
		for _, value := range filter.GetValues() {
			write(value)
		}
	}
	section("order", len(order))
	for _, key := range order {
		write(key.Field)
		if key.Desc {
			write("desc")
		} else {
			write("asc")
		}
	}
	return fingerprint(hash.Sum(nil)[:fingerprintSize])
}

func encodeToken(query fingerprint, keys []string) string {
	raw := append([]byte{tokenVersion}, query[:]...)
	for _, key := range keys {
		raw = binary.AppendUvarint(raw, uint64(len(key)))
		raw = append(raw, key...)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// decodeToken decodes a token, which must belong to the query and have count sort values.
func decodeToken(token string, query fingerprint, count int) ([]string, error) {
	if len(token) > maxToken {
		return nil, errToken
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < 1+fingerprintSize || raw[0] != tokenVersion {
		return nil, errToken
	}
	if fingerprint(raw[1:1+fingerprintSize]) != query {
		return nil, fmt.Errorf("%w: it belongs to a list with another scope, filter or order", errToken)
	}
	raw = raw[1+fingerprintSize:]
	keys := make([]string, 0, count)
	for len(raw) > 0 {
		size, n := binary.Uvarint(raw)
		if n <= 0 || size > uint64(len(raw)-n) || len(keys) == count { //nolint:gosec // n is at most the length
			return nil, errToken
		}
		keys = append(keys, string(raw[n:n+int(size)])) //nolint:gosec // checked above
		raw = raw[n+int(size):]                         //nolint:gosec // checked above
	}
	if len(keys) != count {
		return nil, errToken
	}
	return keys, nil
}
