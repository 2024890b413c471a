package blobpath

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// markLength is the number of characters of a mark: 80 bits.
const markLength = 16

var markEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// RunDir is the name of a run's directory: the name of the run and a mark, derived from the digest of the request that
// created the run. The mark is how a run proves that a directory is its own: a client that chooses the name and the base
// directory of a run cannot choose its mark, and so cannot make the run's directory one that exists. It costs no request
// to the object store.
func RunDir(run string, request []byte) string {
	digest := sha256.Sum256(append([]byte("run directory\x00"+run+"\x00"), request...))
	return run + "." + strings.ToLower(markEncoding.EncodeToString(digest[:]))[:markLength]
}

// IsRunDir reports whether name is the directory of a run with a mark. Which mark is not checked.
func IsRunDir(name, run string) bool {
	of, marked := RunOf(name)
	return marked && of == run
}

// RunOf is the run whose directory has this name; false when it is not a name of a directory with a mark.
func RunOf(name string) (run string, marked bool) {
	run, mark, _ := strings.Cut(name, ".")
	if run == "" || len(mark) != markLength || mark != strings.ToLower(mark) {
		return "", false
	}
	_, err := markEncoding.DecodeString(strings.ToUpper(mark))
	return run, err == nil
}
