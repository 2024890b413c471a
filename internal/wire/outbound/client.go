package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

// Config says what a client may call.
type Config struct {
	// Allow lists address ranges that may be called although they are refused by default.
	Allow []string
	// Proxy is the URL of an HTTP proxy, which then decides about addresses; empty means none. The proxy variables of the
	// environment are ignored.
	Proxy string
	// Timeout bounds one call.
	Timeout time.Duration
	// Setting is the configuration key of Allow, for errors.
	Setting string
}

// NewClient returns a client for calls to addresses that users gave.
func NewClient(config Config) (*http.Client, error) {
	allowed, err := Prefixes(config.Allow)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: config.Timeout, ResponseHeaderTimeout: config.Timeout,
	}
	dialer := &net.Dialer{Timeout: config.Timeout}
	if config.Proxy == "" {
		p := policy{allowed: allowed, denied: refused(), setting: config.Setting}
		// The check sees the address that is actually dialled, whatever names resolved to before.
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return p.check(address) }
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

// ErrRedirect is wrapped by the errors of redirects that are not followed.
var ErrRedirect = errors.New("not followed")

// checkRedirect follows a redirect only if it keeps the method and body. Headers that the user set may have credentials,
// which another host does not get.
func checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects: %w", maxRedirects, ErrRedirect)
	case to.URL.Scheme != "https" && to.URL.Scheme != via[0].URL.Scheme:
		return fmt.Errorf("a redirect from %s to %s is %w", via[0].URL.Scheme, to.URL.Scheme, ErrRedirect)
	case to.Method != via[0].Method:
		return fmt.Errorf("a redirect that changes the method is %w; use 307 or 308", ErrRedirect)
	}
	if to.URL.Host != via[0].URL.Host {
		for name := range to.Header {
			switch name {
			case "Content-Type", "User-Agent", HeaderKey, HeaderDelivery:
			default:
				to.Header.Del(name)
			}
		}
	}
	return nil
}

// The headers by which receivers tell repetitions.
const (
	HeaderKey      = "Idempotency-Key"
	HeaderDelivery = "X-Flyte-Delivery"
)

// StatusError is an answer other than 2xx.
type StatusError struct {
	// Status is the code of the answer.
	Status int
	// After is the pause that the service asked for with Retry-After in seconds; 0 for none.
	After time.Duration
}

// Error has nothing that the service wrote: the author of a task must not read a service through the server.
func (e *StatusError) Error() string {
	return fmt.Sprintf("it returned %d %s", e.Status, http.StatusText(e.Status))
}

// Send makes a call. Any status but 2xx is a StatusError. Errors have no URL, which may contain secrets.
func Send(client *http.Client, request *http.Request) error {
	request.Header.Set("User-Agent", "flyte-binary")
	response, err := client.Do(request) //nolint:gosec // the client checks the address that it dials
	if err != nil {
		return short(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	if response.StatusCode/100 == 2 {
		return nil
	}
	failure := &StatusError{Status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		failure.After = time.Duration(min(seconds, 24*3600)) * time.Second
	}
	return failure
}

func short(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		if wrapped.Timeout() || errors.Is(err, context.DeadlineExceeded) {
			return errors.New("it did not answer in time")
		}
		return wrapped.Err
	}
	return err
}

// Host is the part of a URL that may be shown; the rest may contain secrets. It is empty for no URL.
func Host(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Host
}
