package accounts

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a new hash: the memory in KiB, the passes and the threads, as OWASP recommends.
const (
	hashMemory  = 19 << 10
	hashPasses  = 2
	hashThreads = 1
	hashBytes   = 32
	saltBytes   = 16
)

// MaxPassword bounds what is hashed.
const MaxPassword = 1024

// hash returns the argon2id hash of a password in the PHC string format.
func hash(password string) string {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	sum := argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, hashThreads, hashBytes)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashThreads, encode(salt), encode(sum))
}

// matches reports whether a hash is that of a password.
func matches(encoded, password string) (bool, error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errors.New("the stored hash is not in the format of argon2id")
	}
	var version, memory, passes uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &threads); err != nil || version != argon2.Version {
		return false, fmt.Errorf("the parameters of the stored hash are not known: %s %s", parts[2], parts[3])
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, fmt.Errorf("the salt of the stored hash: %w", err)
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil {
		return false, fmt.Errorf("the stored hash: %w", err)
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, threads, hashBytes)
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}
