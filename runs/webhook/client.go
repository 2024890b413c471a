package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

const (
	// maxAnswer is how much of a response is read before its connection is closed, in bytes.
	maxAnswer = 4 << 10
	// maxRedirects is how often a call follows a redirect.
	maxRedirects = 3
)

// refused lists addresses that a task's author must not reach through the server: this machine, private networks with the
// cluster's own services, cloud metadata services, which serve the credentials of the machine, and addresses that reach
// these through a translator or a tunnel. From the special-purpose registries of IANA.
func refused() []netip.Prefix {
	var ranges []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::/128", "::1/128", "fe80::/10", "ff00::/8",
		"10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "fc00::/7", "fec0::/10",
		"64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16",
	} {
		ranges = append(ranges, netip.MustParsePrefix(text))
	}
	return ranges
}

// newClient returns the client for all calls.
func newClient(config Config) (*http.Client, error) {
	allowed, err := prefixes(config.Allow)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: config.Timeout, ResponseHeaderTimeout: config.Timeout,
	}
	dialer, denied := &net.Dialer{Timeout: config.Timeout}, refused()
	if config.Proxy == "" {
		// The check sees the address that is actually dialled, whatever names resolved to before.
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return checkAddress(address, allowed, denied) }
	} else {
		proxy, err := url.Parse(config.Proxy)
		if err != nil {
			return nil, errors.New("proxy: must be a URL")
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	transport.DialContext = dialer.DialContext
	return &http.Client{Transport: transport, Timeout: config.Timeout, CheckRedirect: checkRedirect}, nil
}

func checkAddress(address string, allowed, denied []netip.Prefix) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %s cannot be read", address)
	}
	ip := at.Addr().Unmap().WithZone("")
	for _, prefix := range allowed {
		if prefix.Contains(ip) {
			return nil
		}
	}
	for _, prefix := range denied {
		if prefix.Contains(ip) {
			return fmt.Errorf("the address %s must not be called; see runs.webhooks.allow", ip)
		}
	}
	return nil
}

// checkRedirect follows a redirect only if it keeps the method and body.
func checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case to.URL.Scheme != "https" && to.URL.Scheme != via[0].URL.Scheme:
		return fmt.Errorf("a redirect from %s to %s is not followed", via[0].URL.Scheme, to.URL.Scheme)
	case to.Method != http.MethodPost:
		return errors.New("a redirect that changes the method is not followed; use 307 or 308")
	}
	return nil
}

// post sends the call. Any status but 2xx is an error.
func post(ctx context.Context, client *http.Client, target string, id int64, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return errors.New("its URL cannot be read")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "flyte-binary")
	request.Header.Set("Idempotency-Key", "condition-"+strconv.FormatInt(id, 10)) // a call may come twice
	response, err := client.Do(request)
	if err != nil {
		return short(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	if response.StatusCode/100 == 2 {
		return nil
	}
	// Nothing that the service wrote is shown: the author must not read a service through the server.
	return fmt.Errorf("it returned %d %s", response.StatusCode, http.StatusText(response.StatusCode))
}

// short leaves out the URL, which may contain secrets.
func short(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		if wrapped.Timeout() {
			return errors.New("it did not answer in time")
		}
		return wrapped.Err
	}
	return err
}
