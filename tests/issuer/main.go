// Command issuer is an identity provider for the tests that are not written in Go: the example provider of zitadel/oidc, with a client for
// one installation. It ends when its standard input does.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/test/issuertest"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "where it listens")
	installation := flag.String("installation", "", "the URL of the installation whose people sign in")
	flag.Parse()
	if err := serve(*listen, *installation); err != nil {
		fmt.Fprintln(os.Stderr, "issuer:", err)
		os.Exit(1)
	}
}

func serve(listen, installation string) error {
	listener, err := net.Listen("tcp", listen) //nolint:noctx // binding does not wait
	if err != nil {
		return err
	}
	url := "http://" + strings.Replace(listener.Addr().String(), "127.0.0.1", "localhost", 1)
	server := &http.Server{Handler: issuertest.Provider(url, installation), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the process that started it has ended
		_ = server.Close()                   // it ends anyway
	}()
	fmt.Fprintln(os.Stdout, url)
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}
