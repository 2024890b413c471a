package notifications_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/notifications"
)

// post is a mail server that takes mail over TLS from one user.
type post struct {
	port    int
	ca      string
	mu      sync.Mutex
	letters []letter
	refuse  map[string]*smtp.SMTPError // by address, once each
}

// letter is what the server got.
type letter struct {
	from string
	to   []string
	body string
	safe bool
}

func newPost(t *testing.T, implicit bool) *post {
	t.Helper()
	p := &post{refuse: map[string]*smtp.SMTPError{}}
	certificate := p.certify(t)
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{post: p, conn: c}, nil }))
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.Domain, server.ErrorLog = "localhost", silent{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.port = listener.Addr().(*net.TCPAddr).Port
	if implicit {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with Close
	}()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		<-served
	})
	return p
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

// certify makes a certificate for localhost, which signs itself.
func (p *post) certify(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	p.ca = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(p.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (p *post) config(c *notifications.Config) {
	c.Email = notifications.EmailConfig{
		Host: "localhost", Port: p.port, TLS: "starttls", CAFile: p.ca, Username: "flyte", Password: "secret", From: "Flyte <flyte@example.com>",
	}
}

func (p *post) received() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.letters)
}

// session is one connection.
type session struct {
	post *post
	conn *smtp.Conn
	user string
	letter
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "flyte" || password != "secret" {
			return errors.New("wrong password")
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.user == "" {
		return smtp.ErrAuthRequired
	}
	s.letter = letter{from: from}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	if refusal := s.post.refuse[to]; refusal != nil {
		delete(s.post.refuse, to)
		return refusal
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	var body bytes.Buffer
	if _, err := io.Copy(&body, r); err != nil {
		return err
	}
	_, s.safe = s.conn.TLSConnectionState()
	s.body = body.String()
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	s.post.letters = append(s.post.letters, s.letter)
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func email(html string) *notification.DeliveryConfigTemplate {
	return &notification.DeliveryConfigTemplate{Email: &notification.EmailDeliveryTemplate{
		To:  []*notification.EmailRecipient{{Address: "a@example.com", Name: "Ann Ö"}, {Address: "b@example.com"}},
		Bcc: []*notification.EmailRecipient{{Address: "hidden@example.com"}, {Address: "a@example.com"}},
		Content: &notification.EmailDeliveryTemplate_Inline{Inline: &notification.InlineEmailTemplate{
			Subject: "Run {{.Run.Name}}: {{.Error}}", TextTemplate: "It said: {{.Error}}", HtmlTemplate: html,
		}},
	}}
}

// TestEmail: each receiver gets the message once, over TLS; an error with line breaks becomes no header.
func TestEmail(t *testing.T) {
	for _, implicit := range []bool{false, true} {
		p := newPost(t, implicit)
		p.refuse["a@example.com"] = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
		p.refuse["b@example.com"] = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
		f := newFixture(t, func(c *notifications.Config) {
			p.config(c)
			if implicit {
				c.Email.TLS = "tls"
			}
		})
		f.create("mail", rules(template(email("No HTML body"), failed)))
		f.end("mail", failed, "first\r\nBcc: evil@example.com\r\n\r\n<b>body</b>")
		require.Eventually(t, func() bool { return len(p.received()) == 2 }, 20*time.Second, 10*time.Millisecond)
		var to []string
		for _, one := range p.received() {
			require.True(t, one.safe)
			require.Equal(t, "flyte@example.com", one.from)
			require.Len(t, one.to, 1)
			to = append(to, one.to...)
			message, err := mail.ReadMessage(strings.NewReader(one.body))
			require.NoError(t, err)
			addresses, err := message.Header.AddressList("To")
			require.NoError(t, err)
			require.Equal(t, []*mail.Address{{Name: "Ann Ö", Address: "a@example.com"}, {Address: "b@example.com"}}, addresses)
			require.Empty(t, message.Header.Get("Bcc"))
			require.NotContains(t, one.body, "hidden@example.com")
			require.Contains(t, message.Header.Get("Subject"), "Run mail: first")
			require.Contains(t, message.Header.Get("Content-Type"), "text/plain", "the SDK's text for no HTML is not HTML")
			require.Contains(t, message.Header.Get("Message-ID"), "@example.com>")
			text, err := io.ReadAll(message.Body)
			require.NoError(t, err)
			require.Contains(t, string(text), "<b>body</b>")
		}
		require.ElementsMatch(t, []string{"a@example.com", "hidden@example.com"}, to)
		states := map[string]string{}
		require.Eventually(t, func() bool {
			for _, one := range f.deliveries("mail") {
				states[one.GetTarget()] = one.GetState().String() + " " + one.GetLastError()
			}
			return !strings.Contains(states["a@example.com"]+states["hidden@example.com"]+states["b@example.com"], "PENDING")
		}, 20*time.Second, 10*time.Millisecond)
		require.Equal(t, map[string]string{
			"a@example.com": "DELIVERY_STATE_DELIVERED ", "hidden@example.com": "DELIVERY_STATE_DELIVERED ",
			"b@example.com": "DELIVERY_STATE_DEAD the mail server refused it with code 550",
		}, states)
	}
}

// TestEmailOfTwoParts: values are escaped for HTML in the part that is HTML, and nowhere else.
func TestEmailOfTwoParts(t *testing.T) {
	p := newPost(t, false)
	f := newFixture(t, p.config)
	f.create("html", rules(template(email("<p>{{.Error}}</p>"), failed)))
	f.end("html", failed, "1 < 2")
	f.settle("html", 3, delivered)
	require.Contains(t, p.received()[0].body, "<p>1 &lt; 2</p>")
	require.Contains(t, p.received()[0].body, "It said: 1 < 2")
}

// TestAMailServerThatCannotBeTrusted gets neither the password nor the mail.
func TestAMailServerThatCannotBeTrusted(t *testing.T) {
	p := newPost(t, false)
	f := newFixture(t, func(c *notifications.Config) {
		p.config(c)
		c.Email.CAFile, c.MaxTries = "", 2
	})
	f.create("spy", rules(template(email(noHTML), failed)))
	f.end("spy", failed, "x")
	list := f.settle("spy", 3, dead)
	require.Contains(t, list[0].GetLastError(), "certificate")
	require.Empty(t, p.received())
}

// TestNoMailServer: the run is noted, and its mails are listed as given up.
func TestNoMailServer(t *testing.T) {
	f := newFixture(t, nil)
	f.create("none", rules(template(email(noHTML), failed)))
	f.end("none", failed, "x")
	require.Equal(t, "this server has no mail server (notifications.email.host)", f.settle("none", 3, dead)[0].GetLastError())
}

const noHTML = "No HTML body"
