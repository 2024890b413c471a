package entry

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
)

// Value is the value of a secret. However it is printed, logged or encoded, it shows Redacted instead of its bytes.
type Value struct{ bytes []byte }

// Redacted is what a Value shows of itself.
const Redacted = "(secret)"

// NewValue returns a copy of the bytes as a value.
func NewValue(content []byte) Value { return Value{bytes: bytes.Clone(content)} }

// Reveal returns the bytes, for those who must have them. The caller does not change them.
func (v Value) Reveal() []byte { return v.bytes }

// Len is the number of bytes.
func (v Value) Len() int { return len(v.bytes) }

// String implements fmt.Stringer.
func (Value) String() string { return Redacted }

// GoString implements fmt.GoStringer.
func (Value) GoString() string { return Redacted }

// Format implements fmt.Formatter for every verb, also those that would print the fields.
func (Value) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, Redacted) }

// MarshalJSON implements json.Marshaler.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue implements slog.LogValuer.
func (Value) LogValue() slog.Value { return slog.StringValue(Redacted) }
