package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
)

// MailRule is the rule whose notifications come as e-mail.
const MailRule = "mailed"

// MailPort is the port of the mail server, which is without TLS.
func (s *Server) MailPort() int { return s.mailPort }

// startMail starts the mail server. It behaves as the mode says, as far as its protocol has such a thing: there is no second
// answer.
func (s *Server) startMail() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return errors.New("sink: no TCP address")
	}
	s.mailPort = address.Port
	s.mails = smtp.NewServer(smtp.BackendFunc(func(conn *smtp.Conn) (smtp.Session, error) { return &session{sink: s, conn: conn}, nil }))
	s.mails.Domain, s.mails.ReadTimeout, s.mails.WriteTimeout, s.mails.MaxMessageBytes = "localhost", time.Minute, time.Minute, maxBody
	s.mails.ErrorLog = silent{}
	go s.mails.Serve(listener) //nolint:errcheck // until Close
	return nil
}

// silent drops what the mail server logs: connections that the storm cuts.
type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

// session is one connection to the mail server.
type session struct {
	sink *Server
	conn *smtp.Conn
}

func (m *session) Mail(string, *smtp.MailOptions) error {
	switch m.sink.now() {
	case Refusing:
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
	case Cutting:
		_ = m.conn.Conn().Close()
	default:
	}
	return nil
}

func (m *session) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (m *session) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return fmt.Errorf("a message cannot be read: %w", err)
	}
	body, err := io.ReadAll(message.Body)
	if err != nil {
		return err // its sender is gone
	}
	// The text is short and has no characters that need an encoding, except that = is one.
	note := Note{ID: message.Header.Get("X-Flyte-Delivery"), Rule: MailRule}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(body), "=\r\n", "")), &note); err != nil {
		return fmt.Errorf("a notification cannot be read: %w", err)
	}
	mode := m.sink.now()
	m.sink.keep(note)
	switch mode {
	case Slow:
		wait(context.Background(), Delay)
	case Forgetful:
		_ = m.conn.Conn().Close()
	default:
	}
	return nil
}

func (m *session) Reset() {}

func (m *session) Logout() error { return nil }
