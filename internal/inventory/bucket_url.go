package inventory

import (
	"errors"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// BucketURL is the URL of a bucket, in the form of the engine's backends. The zero BucketURL means none.
type BucketURL struct{ text, shown string }

// String returns the URL as it is written in the inventory.
func (u BucketURL) String() string { return u.text }

// Shown returns the URL without its parameters.
func (u BucketURL) Shown() string { return u.shown }

// IsZero reports whether there is none.
func (u BucketURL) IsZero() bool { return u.text == "" }

// MarshalText implements [encoding.TextMarshaler].
func (u BucketURL) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// UnmarshalText reads a URL. A key in it is not repeated in the error.
func (u *BucketURL) UnmarshalText(text []byte) error {
	parsed, err := address.Parse(string(text))
	var problem *address.Problem
	if errors.As(err, &problem) {
		return &strictyaml.Fault{What: problem.What, Rule: problem.Rule, Got: problem.Got, Do: problem.Do}
	}
	if err != nil {
		return err
	}
	u.text, u.shown = string(text), address.Shown(parsed)
	return nil
}
