package gateway

import (
	"net/http"
	"strings"
)

// longestName bounds what is compared of a header's name. No name or prefix in the lists below is longer.
const longestName = 48

// trustedPrefixes begin the names of headers that programs behind a proxy believe: who the user is, where the request comes
// from, and which path was asked for. They are in the form of envName.
var trustedPrefixes = []string{
	"X_FLYTE_", "X_FORWARDED_", "X_ORIGINAL_", "X_REMOTE_", "X_AUTH_REQUEST_", "X_AUTHENTICATED_", "X_WEBAUTH_",
	"X_CLIENT_CERT", "X_SSL_", "SSL_CLIENT_", "X_ACCEL_", "X_SENDFILE_", "X_ENVOY_", "X_APPENGINE_", "X_GOOG_AUTHENTICATED_USER_",
	"X_AMZN_OIDC_", "X_MS_CLIENT_PRINCIPAL", "CF_ACCESS_", "TAILSCALE_USER_",
}

// trustedNames are further names of that kind, and those that replace the method. PROXY would become the variable HTTP_PROXY
// of a CGI program, which sends its own requests there.
var trustedNames = map[string]bool{
	"FORWARDED": true, "X_REAL_IP": true, "X_CLIENT_IP": true, "CLIENT_IP": true, "TRUE_CLIENT_IP": true, "CF_CONNECTING_IP": true,
	"FASTLY_CLIENT_IP": true, "X_CLUSTER_CLIENT_IP": true, "X_PROXYUSER_IP": true,
	"X_SCHEME": true, "X_URL_SCHEME": true, "FRONT_END_HTTPS": true, "X_ARR_SSL": true, "X_HOST": true, "X_SCRIPT_NAME": true,
	"SCRIPT_NAME": true, "PATH_INFO": true, "X_REWRITE_URL": true,
	"X_HTTP_METHOD": true, "X_HTTP_METHOD_OVERRIDE": true, "X_METHOD_OVERRIDE": true,
	"REMOTE_USER": true, "REMOTE_NAME": true, "REMOTE_EMAIL": true, "REMOTE_GROUPS": true, "REMOTE_ADDR": true, "REMOTE_HOST": true,
	"X_VERIFIED_USER": true, "X_GOOG_IAP_JWT_ASSERTION": true, "PROXY": true,
}

// connectionNames are headers of one connection, in the form of envName. The proxy handles those that are spelled correctly;
// any other spelling is an attempt to pass one through.
var connectionNames = map[string]string{
	"CONTENT_LENGTH": "Content-Length", "KEEP_ALIVE": "Keep-Alive", "PROXY_AUTHENTICATE": "Proxy-Authenticate",
	"PROXY_AUTHORIZATION": "Proxy-Authorization", "PROXY_CONNECTION": "Proxy-Connection", "TRANSFER_ENCODING": "Transfer-Encoding",
}

// envName writes the name of a header as CGI, WSGI, Rack and PHP do, for which many names are one: in upper case, and with an
// underscore for all that is neither a letter nor a digit. It returns the part of the buffer that it used.
func envName(into *[longestName]byte, name string) []byte {
	n := min(len(name), len(into))
	for i := range n {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z':
			into[i] = c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			into[i] = c
		default:
			into[i] = '_'
		}
	}
	return into[:n]
}

// trusted reports whether an app may take a header for the word of its proxy. Clients must not set it, however they spell it.
func trusted(name string) bool {
	var buffer [longestName]byte
	known := envName(&buffer, name)
	if trustedNames[string(known)] {
		return true
	}
	if right := connectionNames[string(known)]; right != "" && right != name {
		return true
	}
	for _, prefix := range trustedPrefixes {
		if len(known) >= len(prefix) && string(known[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}

// dropTrusted removes the headers of a client that an app would believe.
func dropTrusted(header http.Header) {
	for name := range header {
		if trusted(name) {
			delete(header, name)
		}
	}
}

// hidden is a set of headers in the form of envName.
func hidden(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		var buffer [longestName]byte
		set[string(envName(&buffer, name))] = true
	}
	return set
}

// dropHidden removes headers of a set, however they are spelled.
func dropHidden(header http.Header, names map[string]bool) {
	if len(names) == 0 {
		return
	}
	for name := range header {
		var buffer [longestName]byte
		if names[string(envName(&buffer, name))] {
			delete(header, name)
		}
	}
}

// dropOwn removes the headers of an app that only the gateway may set.
func dropOwn(header http.Header) {
	for name := range header {
		var buffer [longestName]byte
		if strings.HasPrefix(string(envName(&buffer, name)), trustedPrefixes[0]) {
			delete(header, name)
		}
	}
}
