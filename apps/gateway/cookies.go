package gateway

import (
	"net/http"
	"strings"
)

// ownCookies begin the names of the cookies by which the installation knows browsers, with and without TLS: at its own host
// (access/signin), and at those of apps. An app that got them could act as the person whose session it is.
var ownCookies = []string{
	"flyte-session", "__Host-flyte-session", "flyte-login", "__Host-flyte-login", "flyte-app", "__Host-flyte-app",
	// Those by which identity-aware proxies know browsers: some of them are tokens that the installation would accept.
	"CF_Authorization", "_oauth2_proxy", "__Host-_oauth2_proxy", "_pomerium", "GCP_IAP_", "__Host-GCP_IAP_", "AWSELBAuthSessionCookie",
}

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
