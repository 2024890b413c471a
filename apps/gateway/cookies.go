package gateway

import (
	"net/http"
	"strings"
)

// ownCookies begin the names of the cookies by which the installation knows browsers, with and without TLS (access/signin). An app
// that is reached by path gets requests with them, and could act as the person whose session it is.
var ownCookies = []string{"flyte-session", "__Host-flyte-session", "flyte-login", "__Host-flyte-login"}

// dropSession removes the cookies of the installation. The others keep their bytes.
func dropSession(header http.Header) {
	lines := header["Cookie"]
	kept := lines[:0:0]
	for _, line := range lines {
		var pairs []string
		for pair := range strings.SplitSeq(line, ";") {
			if !ownCookie(strings.TrimSpace(pair)) {
				pairs = append(pairs, pair)
			}
		}
		if rest := strings.TrimSpace(strings.Join(pairs, ";")); rest != "" {
			kept = append(kept, rest)
		}
	}
	if len(kept) == 0 {
		delete(header, "Cookie")
		return
	}
	header["Cookie"] = kept
}

func ownCookie(pair string) bool {
	for _, name := range ownCookies {
		if strings.HasPrefix(pair, name) {
			return true
		}
	}
	return false
}
