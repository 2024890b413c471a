package browserguard

import "net/http"

// Own reports whether a request may use what a browser sends by itself, such as a cookie: it is of a page of the server, or a person
// follows a link to it. Programs may.
func Own(method string, header http.Header) bool {
	switch header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return (method == http.MethodGet || method == http.MethodHead) && header.Get("Sec-Fetch-Mode") == "navigate" && header.Get("Sec-Fetch-Dest") == "document"
}
