package inventory

import (
	"time"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Interval is the time between two repetitions, written as 30s, 10m or 1h30m. The zero Interval means none.
type Interval struct {
	text     string
	duration time.Duration
}

// String returns the interval as it is written in the inventory.
func (i Interval) String() string { return i.text }

// Duration returns the interval as a length of time.
func (i Interval) Duration() time.Duration { return i.duration }

// MarshalText implements [encoding.TextMarshaler].
func (i Interval) MarshalText() ([]byte, error) { return []byte(i.text), nil }

// UnmarshalText reads an interval of a second or more, in the form that Flux accepts (metav1.Duration: hours, minutes and
// seconds).
func (i *Interval) UnmarshalText(text []byte) error {
	const least = time.Second
	duration, err := time.ParseDuration(string(text))
	if err != nil || duration < least {
		return &strictyaml.Fault{What: "is not an interval", Rule: "1s or more", Do: "write one like 10m"}
	}
	i.text, i.duration = string(text), duration
	return nil
}
