package inventory

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Schedule is when something is repeated, in the five fields of cron or one of its words such as @daily, in UTC. The zero Schedule means
// never.
type Schedule struct {
	text string
	spec cron.Schedule
}

// String returns the schedule as it is written in the inventory.
func (s Schedule) String() string { return s.text }

// Next returns the first time after another one; the zero time if there is none, as for 30 February.
func (s Schedule) Next(after time.Time) time.Time {
	if s.spec == nil {
		return time.Time{}
	}
	return s.spec.Next(after.UTC())
}

// MarshalText implements [encoding.TextMarshaler].
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.text), nil }

// UnmarshalText reads a schedule with the parser that Kubernetes uses. Like Kubernetes, it refuses a schedule with a time zone (kubernetes v1.35,
// pkg/apis/batch/validation, validateCronJobSpec).
func (s *Schedule) UnmarshalText(text []byte) error {
	written := string(text)
	wrong := &strictyaml.Fault{What: "is not a schedule", Rule: "the five fields of cron, in UTC", Do: "write one like 0 */6 * * *"}
	if strings.Contains(written, "TZ=") {
		return wrong
	}
	spec, err := cron.ParseStandard(written)
	if err != nil {
		return wrong
	}
	if spec.Next(time.Unix(0, 0).UTC()).IsZero() {
		return &strictyaml.Fault{What: "is a schedule for a day that does not exist", Do: "write one like 0 */6 * * *"}
	}
	s.text, s.spec = written, spec
	return nil
}
