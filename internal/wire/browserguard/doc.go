// Package browserguard keeps foreign web pages away from a server that a person's browser can reach. It stops two
// attacks that firewalls and CORS headers do not stop:
//
//   - DNS rebinding: the page's own name is pointed at the server, so that the browser takes both for one origin. The
//     browser still sends the page's name as Host, so only known names are served.
//   - Cross-site requests: the page sends a request that changes something, and does not need the response. The browser
//     says so in Sec-Fetch-Site or Origin.
package browserguard
