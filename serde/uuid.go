package serde

import (
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"
)

// UUID is the serde of UUIDs: the 36 characters of their lower-case text, Kafka's UUID serde. Decode accepts that form only, not
// upper case, braces or the short forms that Java's UUID.fromString lets pass, so that a UUID has one encoding.
var UUID uuidSerde

type uuidSerde struct{}

const uuidLen = 36

func (uuidSerde) Append(dst []byte, v uuid.UUID) ([]byte, error) {
	dst = hex.AppendEncode(dst, v[:4])
	for _, part := range [...][]byte{v[4:6], v[6:8], v[8:10], v[10:]} {
		dst = hex.AppendEncode(append(dst, '-'), part)
	}
	return dst, nil
}

func (uuidSerde) Decode(src []byte) (uuid.UUID, error) {
	if len(src) != uuidLen {
		return uuid.UUID{}, sizeError("UUID text", len(src), uuidLen)
	}
	var id uuid.UUID
	n := 0 // hex digits read
	for i, c := range src {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return uuid.UUID{}, uuidError(src, i)
			}
			continue
		}
		digit, ok := hexDigit(c)
		if !ok {
			return uuid.UUID{}, uuidError(src, i)
		}
		id[n/2] = id[n/2]<<4 | digit
		n++
	}
	return id, nil
}

func (uuidSerde) Describe() string { return "uuid" }
func (uuidSerde) canonical() bool  { return true }

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

func uuidError(src []byte, at int) error {
	return fmt.Errorf("serde: UUID text %q: byte %d is %q, want the lower-case form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", src, at, src[at])
}
