package tasks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Prefix makes tokens recognisable, for secret scanners too.
const Prefix = "fbt_"

// macSize is how many bytes of the HMAC-SHA256 a token has.
const macSize = sha256.Size

// The kinds of holders, as tokens have them.
const (
	ofAttempt = 1
	ofApp     = 2
)

// maxToken bounds what is decoded, in bytes. The longest names make a token of less than half of it.
const maxToken = 2 << 10

// claims are what a token says.
type claims struct {
	kind byte
	// uid is that of the action, or of the app: names are used again.
	uid             string
	project, domain string
	// name is that of the run, or of the app; action that of the action.
	name, action string
	// number is the attempt, or the revision.
	number uint64
}

// encoding has no character that paths, variables or shells treat in a special way.
var encoding = base64.RawURLEncoding.Strict() //nolint:gochecknoglobals // a constant

// sign makes the token of claims by a key with an id of eight hexadecimal digits. Equal claims have equal tokens.
func sign(c claims, id string, private []byte) (string, error) {
	body, err := hex.DecodeString(id)
	if err != nil {
		return "", err
	}
	body = append(body, c.kind)
	body = binary.AppendUvarint(body, c.number)
	for _, text := range []string{c.uid, c.project, c.domain, c.name, c.action} {
		body = binary.AppendUvarint(body, uint64(len(text)))
		body = append(body, text...)
	}
	return Prefix + encoding.EncodeToString(append(body, mac(body, private)...)), nil
}

func mac(body, private []byte) []byte {
	hash := hmac.New(sha256.New, private)
	hash.Write([]byte(Prefix)) // a key of tasks signs nothing else, whatever else it may be used for by mistake
	hash.Write(body)
	return hash.Sum(nil)
}

// keySize is how many bytes of the id of its key a token has.
const keySize = 4

// opened is a token that was read and is not verified.
type opened struct {
	key       string
	body, sum []byte
}

// open reads a token. It reports false for what is none.
func open(token string) (opened, bool) {
	text, ok := strings.CutPrefix(token, Prefix)
	if !ok || len(text) > maxToken {
		return opened{}, false
	}
	raw, err := encoding.DecodeString(text)
	if err != nil || len(raw) <= keySize+macSize {
		return opened{}, false
	}
	body, sum := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	return opened{key: hex.EncodeToString(body[:keySize]), body: body, sum: sum}, true
}

// verify returns what the token says, and whether the key has signed it.
func (o opened) verify(private []byte) (claims, bool) {
	if !hmac.Equal(o.sum, mac(o.body, private)) {
		return claims{}, false
	}
	rest := o.body[keySize:]
	c := claims{kind: rest[0]}
	number, n := binary.Uvarint(rest[1:])
	if n <= 0 {
		return claims{}, false
	}
	c.number, rest = number, rest[1+n:]
	for _, text := range []*string{&c.uid, &c.project, &c.domain, &c.name, &c.action} {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) { //nolint:gosec // not negative
			return claims{}, false
		}
		*text, rest = string(rest[n:n+int(size)]), rest[n+int(size):] //nolint:gosec // within rest
	}
	return c, len(rest) == 0
}
